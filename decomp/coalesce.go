package decomp

import "math/bits"

// SortCoalesce sorts reqs stably by offset, merges them from left to right in place, and returns the shorter list. A request
// starts a new merged request if its offset is a multiple of last (the length of the fastest dimension) or beyond the end of
// the current merged request. Otherwise its length is added to the current merged request, even if the two overlap. E3SM-IO
// does the same (docs/format-maps.md), so merged requests never cross the end of a row. With last <= 0 there are no rows.
func SortCoalesce(reqs []Req, last int64) []Req {
	sortByOffset(reqs)
	return coalesce(reqs, last, true)
}

// SortMerge is SortCoalesce for lists that may contain an element more than once. Overlapping requests stay separate, so the
// result has the same elements as reqs. For lists without repeated elements, SortMerge and SortCoalesce give the same result.
func SortMerge(reqs []Req, last int64) []Req {
	sortByOffset(reqs)
	return coalesce(reqs, last, false)
}

// coalesce merges a sorted list in place. If add is set, it also merges overlapping requests.
func coalesce(reqs []Req, last int64, add bool) []Req {
	if len(reqs) < 2 {
		return reqs
	}
	n := 0
	cur := reqs[0]
	end := cur.Offset + cur.Length
	row := nextRow(cur.Offset, last) // the first row start after the current offset
	for _, r := range reqs[1:] {
		isRow := false
		if r.Offset >= row {
			isRow = r.Offset == row || r.Offset%last == 0
			row = nextRow(r.Offset, last)
		} else if r.Offset == cur.Offset {
			isRow = last > 0 && r.Offset%last == 0
		}
		if !isRow && (r.Offset == end || r.Offset < end && (add || r.Length == 0)) {
			cur.Length += r.Length
			end += r.Length
			continue
		}
		reqs[n] = cur
		n++
		cur = r
		end = r.Offset + r.Length
	}
	reqs[n] = cur
	return reqs[:n+1]
}

const noRow = 1<<63 - 1

// nextRow returns the smallest multiple of last above off.
func nextRow(off, last int64) int64 {
	if last <= 0 {
		return noRow
	}
	m := off % last
	if m < 0 {
		m += last
	}
	if off > noRow-last+m {
		return noRow
	}
	return off - m + last
}

const (
	insertionMax = 24 // maximum length of lists for insertion sort
	digitBits    = 11
)

// sortByOffset sorts stably by offset: short lists by insertion sort, longer lists by a radix sort on the bits in which
// offsets differ.
func sortByOffset(reqs []Req) {
	i := 1
	for i < len(reqs) && reqs[i-1].Offset <= reqs[i].Offset {
		i++
	}
	if i >= len(reqs) {
		return
	}
	if len(reqs) <= insertionMax {
		for ; i < len(reqs); i++ {
			r := reqs[i]
			j := i
			for ; j > 0 && reqs[j-1].Offset > r.Offset; j-- {
				reqs[j] = reqs[j-1]
			}
			reqs[j] = r
		}
		return
	}
	lo, hi := reqs[0].Offset, reqs[0].Offset
	for _, r := range reqs {
		lo, hi = min(lo, r.Offset), max(hi, r.Offset)
	}
	width := bits.Len64(uint64(hi) - uint64(lo)) // wraps correctly for any int64
	src, dst := reqs, make([]Req, len(reqs))
	// Wide digits mean few passes. But each pass clears 2^digit counters, so the width of a digit follows the length of the
	// list.
	digit := min(digitBits, max(4, bits.Len(uint(len(reqs)))))
	passes := (width + digit - 1) / digit
	digit = (width + passes - 1) / passes
	var count [1 << digitBits]int
	for p := range passes {
		shift := p * digit
		mask := uint64(1)<<digit - 1
		c := count[: mask+1 : mask+1]
		clear(c)
		for i := range src {
			c[(uint64(src[i].Offset)-uint64(lo))>>shift&mask]++
		}
		sum := 0
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		for i := range src {
			k := (uint64(src[i].Offset) - uint64(lo)) >> shift & mask
			dst[c[k]] = src[i]
			c[k]++
		}
		src, dst = dst, src
	}
	if passes%2 == 1 {
		copy(reqs, src)
	}
}
