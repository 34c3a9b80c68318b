package decomp

// Regular returns a map that cuts the array, in canonical order, into one equal part for each rank. If the parts cannot be equal,
// the first parts have one more element. Requests end at the end of the fastest dimension. Wrong arguments (see NewBuilder) give
// a map without elements or ranks.
func Regular(dims []int64, ranks int) *Map {
	b := NewBuilder(dims, max(ranks, 0))
	if b.err != nil {
		b = NewBuilder([]int64{0}, 0)
	}
	last := int64(1)
	if len(b.dims) > 0 {
		last = b.dims[len(b.dims)-1]
	}
	p := int64(len(b.ranks))
	for r := range p {
		each, more := b.elems/p, b.elems%p
		lo := r*each + min(r, more)
		hi := lo + each
		if r < more {
			hi++
		}
		if lo == hi {
			continue
		}
		k := rank{count: hi - lo, lo: lo, hi: hi, sorted: true}
		var c compactor
		if o := min(hi, (lo+last-1)/last*last); o > lo { // the rest of a row
			c.block([]Req{{lo, o - lo}}, 1, 0)
			lo = o
			k.nreqs++
		}
		if rows := (hi - lo) / last; rows > 0 {
			c.block([]Req{{lo, last}}, rows, last)
			lo += rows * last
			k.nreqs += rows
		}
		if lo < hi { // the start of a row
			c.block([]Req{{lo, hi - lo}}, 1, 0)
			k.nreqs++
		}
		b.add(int(r), &c.store, k)
	}
	m, err := b.Map()
	if err != nil { // impossible: the sum of the parts is the number of elements
		return &Map{store: &store{}}
	}
	return m
}
