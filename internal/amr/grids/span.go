package grids

// Span is the range of cells Lo <= cell < Hi on three axes.
type Span struct{ Lo, Hi [3]int }

// Len returns the number of cells along each axis.
func (b Span) Len() (n [3]int) {
	for a := range n {
		n[a] = b.Hi[a] - b.Lo[a]
	}
	return n
}

// Cells returns the number of cells, at most 2^62.
func (b Span) Cells() int64 {
	const most = 1 << 62
	n, cells := b.Len(), int64(1)
	for _, k := range n {
		if k > 0 && cells > most/int64(k) {
			return most
		}
		cells *= int64(k)
	}
	return cells
}

// Cut returns the intersection of two spans.
func (b Span) Cut(c Span) (out Span, some bool) {
	some = true
	for a := range 3 {
		out.Lo[a], out.Hi[a] = max(b.Lo[a], c.Lo[a]), min(b.Hi[a], c.Hi[a])
		some = some && out.Lo[a] < out.Hi[a]
	}
	return out, some
}

// Refine returns the span in finer cells; a cell is divided into r finer cells on each axis.
func (b Span) Refine(r [3]int) Span {
	for a := range 3 {
		b.Lo[a] *= r[a]
		b.Hi[a] *= r[a]
	}
	return b
}

// Coarsen returns the coarser cells that a span touches; a coarser cell has r cells on each axis.
func (b Span) Coarsen(r [3]int) Span {
	for a := range 3 {
		b.Lo[a], b.Hi[a] = b.Lo[a]/r[a], (b.Hi[a]-1)/r[a]+1
	}
	return b
}
