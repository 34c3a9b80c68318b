package decomp

// A compactor turns the list of requests of a rank into blocks.
type compactor struct {
	store store
	pos   int64
}

// run appends the blocks of reqs.
func (c *compactor) run(reqs []Req) { c.literal(reqs) }

// literal appends reqs without looking for repetitions, as blocks of as many
// runs as the 32-bit fields of a pattern can hold.
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
		n = max(n, 1) // a run that is longer than what a pattern holds is alone
		c.block(reqs[:n], 1, 0)
		reqs = reqs[n:]
	}
}

// block appends a block of count repetitions of reqs, which must fit a pattern.
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
