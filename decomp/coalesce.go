package decomp

import "blobio/internal/base/radix"

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

func sortByOffset(reqs []Req) { radix.Sort(reqs, func(r *Req) int64 { return r.Offset }) }
