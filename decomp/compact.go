package decomp

import "math/bits"

// A compactor converts the list of requests of a rank into blocks.
//
// It reads the list as a sequence of symbols (length of a request, distance to the next one). A block of count repetitions of k
// requests is a part of the sequence with period k. For each start that it tries, the compactor computes the failure function of
// Knuth, Morris and Pratt, which gives the smallest period of every prefix. It then takes the prefix that saves the most. The
// work is nearly linear. A scan stops at twice the length of its result. In a part without periods, the distance between starts
// grows. A budget limits the scans that reach the end of the list without a result.
type compactor struct {
	store  store
	pos    int64
	fail   []int32
	wasted int // symbols scanned without a result
}

const (
	// minSaved is the minimum of stored runs that a repeated block must save: the block and the literal block after it cost two
	// headers.
	minSaved = 2*blockSize/8 + 2
	// minScan is the length of the shortest scans. minStep is the distance between the starts of scans.
	minScan, minStep = 64, 16
	// maxWaste limits the work without a result to so many scans of the whole list. After that, scans are short.
	maxWaste = 32
	// maxScan is the maximum length of a scan, so that the failure function fits in an int32.
	maxScan = 1 << 30
)

// reset clears the list and keeps the buffers.
func (c *compactor) reset() {
	s := &c.store
	s.blocks, s.rel, s.end = s.blocks[:0], s.rel[:0], s.end[:0]
	c.pos, c.wasted = 0, 0
}

// run appends the blocks of reqs.
func (c *compactor) run(reqs []Req) {
	lit := 0     // reqs[lit:i] are not yet appended
	lastHit := 0 // end of the last repeated block
	for i := 0; i < len(reqs); {
		scan := len(reqs) - i
		if t := i - lastHit; t > 0 {
			// scan 64 requests at every 16th start, 512 requests at every 128th start, and so on
			if t%minStep != 0 {
				i += minStep - t%minStep
				continue
			}
			scan = min(scan, minScan<<(bits.TrailingZeros(uint(t/minStep))/3*3))
		} else if c.wasted/maxWaste > len(reqs) {
			scan = min(scan, minScan)
		}
		scan = min(scan, maxScan)
		k, count := c.period(reqs[i : i+scan])
		if count < 2 {
			c.wasted += scan
			i++
			continue
		}
		n := int64(k)
		stride := reqs[i+k].Offset - reqs[i].Offset
		for next := i + int(n*count); next+k <= len(reqs) && repeats(reqs[next-k:next+k], k, stride); next += k {
			count++ // beyond the end of the scan
		}
		c.literal(reqs[lit:i])
		c.block(reqs[i:i+k], count, stride)
		i += int(n * count)
		lit, lastHit = i, i
	}
	c.literal(reqs[lit:])
}

// repeats reports whether the second k of 2k requests equal the first k, shifted by stride.
func repeats(reqs []Req, k int, stride int64) bool {
	for j := range k {
		if reqs[j+k].Length != reqs[j].Length || reqs[j+k].Offset-reqs[j].Offset != stride {
			return false
		}
	}
	return true
}

// period finds a repetition at the start of reqs: count repetitions of the first k requests. It returns count < 2 if no
// repetition saves enough.
func (c *compactor) period(reqs []Req) (k int, count int64) {
	n := len(reqs)
	if n < 4 {
		return 0, 0
	}
	// s(j) = (reqs[j].Length, reqs[j+1].Offset-reqs[j].Offset), for j < n-1
	same := func(a, b int) bool {
		return reqs[a].Length == reqs[b].Length &&
			reqs[a+1].Offset-reqs[a].Offset == reqs[b+1].Offset-reqs[b].Offset
	}
	// fail[j] is the length of the longest proper border of the first j symbols:
	// their smallest period is j - fail[j]
	fail := append(c.fail[:0], 0, 0)
	best, reach := 0, 0
	// try tests the first j symbols with period p. These symbols end at the offset of request j. The length of request j belongs
	// to the next symbol and need not match.
	try := func(j, p int) {
		whole := j / p
		if (j+1)%p == 0 && reqs[j].Length == reqs[p-1].Length {
			whole = (j + 1) / p
		}
		if saved := (whole - 1) * p; saved > best && saved >= minSaved && fits(reqs[:p], reqs[p].Offset-reqs[0].Offset) {
			best, k, count, reach = saved, p, int64(whole), j
		}
	}
	f, p := 0, 1
	for j := 1; j < n-1; j++ {
		g := f
		for g > 0 && !same(g, j) {
			g = int(fail[g])
		}
		if same(g, j) {
			g++
		}
		if f = g; j+1-f != p { // the period p ends here
			if j+1 >= 2*p {
				try(j, p)
			}
			p = j + 1 - f
			if count >= 2 && j > 2*reach {
				break
			}
		}
		fail = append(fail, int32(f))
	}
	if len(fail) == n && n >= 2*p {
		try(n-1, p)
	}
	c.fail = fail
	return k, count
}

// fits reports whether a pattern of reqs can be stored and repeated.
func fits(reqs []Req, stride int64) bool {
	if stride <= 0 {
		return false
	}
	if len(reqs) == 1 {
		return true
	}
	elems := int64(0)
	for _, r := range reqs {
		d := r.Offset - reqs[0].Offset
		elems += r.Length
		if d > maxPattern || d < -maxPattern || elems > maxPattern {
			return false
		}
	}
	return true
}

// literal appends reqs without repetitions, in blocks as long as the 32-bit fields of a pattern allow.
func (c *compactor) literal(reqs []Req) {
	for len(reqs) > 0 {
		base := reqs[0].Offset
		n, elems := 0, int64(0)
		for n < len(reqs) && n < maxPattern {
			d := reqs[n].Offset - base
			if d > maxPattern || d < -maxPattern || reqs[n].Length > maxPattern-elems {
				break
			}
			elems += reqs[n].Length
			n++
		}
		n = max(n, 1) // a run too long for a pattern gets its own block
		c.block(reqs[:n], 1, 0)
		reqs = reqs[n:]
	}
}

// block appends a block of count repetitions of reqs, which must fit in a pattern.
func (c *compactor) block(reqs []Req, count, stride int64) {
	b := block{base: reqs[0].Offset, pos: c.pos, count: count, stride: stride, n: int32(len(reqs)),
		pat: len(c.store.rel), sorted: true, hi: reqs[0].Length}
	prev := b.base
	for _, r := range reqs {
		d := r.Offset - b.base
		b.elems += r.Length
		b.lo, b.hi = min(b.lo, d), max(b.hi, d+r.Length)
		if r.Offset < prev {
			b.sorted = false
		}
		prev = r.Offset + r.Length
		if len(reqs) > 1 {
			c.store.rel = append(c.store.rel, int32(d))
			c.store.end = append(c.store.end, int32(b.elems))
		}
	}
	c.store.blocks = append(c.store.blocks, b)
	c.pos += count * b.elems
}
