// Package boxes holds boxes of cells, and finds those that have cells in common.
package boxes

// Box is cells from Lo to below Hi on three axes.
type Box struct{ Lo, Hi [3]int }

// Len returns the cells along each axis.
func (b Box) Len() (n [3]int) {
	for a := range n {
		n[a] = b.Hi[a] - b.Lo[a]
	}
	return n
}

// Cells returns the number of cells, of more than 2^62 that.
func (b Box) Cells() int64 {
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

// Cut is what two boxes have in common.
func (b Box) Cut(c Box) (out Box, some bool) {
	some = true
	for a := range 3 {
		out.Lo[a], out.Hi[a] = max(b.Lo[a], c.Lo[a]), min(b.Hi[a], c.Hi[a])
		some = some && out.Lo[a] < out.Hi[a]
	}
	return out, some
}

// Refine are the cells of a box, each divided into r.
func (b Box) Refine(r [3]int) Box {
	for a := range 3 {
		b.Lo[a] *= r[a]
		b.Hi[a] *= r[a]
	}
	return b
}

// Coarsen are the coarser cells, of r each, that a box touches; whole says that it divides none.
func (b Box) Coarsen(r [3]int) (out Box, whole bool) {
	whole = true
	for a := range 3 {
		out.Lo[a], out.Hi[a] = floor(b.Lo[a], r[a]), floor(b.Hi[a]-1, r[a])+1
		whole = whole && out.Lo[a]*r[a] == b.Lo[a] && out.Hi[a]*r[a] == b.Hi[a]
	}
	return out, whole
}

// floor is a division by a positive number that goes down.
func floor(x, by int) int {
	if x < 0 {
		return -((-x + by - 1) / by)
	}
	return x / by
}

// Index finds boxes by their cells: those that touch each bucket. Buckets are as big as the biggest box, so that a box is in eight at most.
type Index struct {
	boxes   []Box
	size    [3]int
	buckets map[[3]int][]int32
}

// NewIndex makes the index of a list, which stays the caller's and must not change.
func NewIndex(list []Box) *Index {
	x := &Index{boxes: list, size: [3]int{1, 1, 1}, buckets: make(map[[3]int][]int32, len(list))}
	for i := range list {
		for a, n := range list[i].Len() {
			x.size[a] = max(x.size[a], n)
		}
	}
	for i := range list {
		x.over(list[i], func(at [3]int) bool {
			x.buckets[at] = append(x.buckets[at], int32(i))
			return true
		})
	}
	return x
}

// over calls f with the buckets of some cells.
func (x *Index) over(b Box, f func(at [3]int) bool) {
	c, _ := b.Coarsen(x.size)
	for k := c.Lo[2]; k < c.Hi[2]; k++ {
		for j := c.Lo[1]; j < c.Hi[1]; j++ {
			for i := c.Lo[0]; i < c.Hi[0]; i++ {
				if !f([3]int{i, j, k}) {
					return
				}
			}
		}
	}
}

// Each calls f once with each box that has cells in common with b, by its number, and with these cells, until f returns false.
func (x *Index) Each(b Box, f func(i int, part Box) bool) {
	if len(x.boxes) == 0 {
		return
	}
	c, _ := b.Coarsen(x.size)
	if n := c.Len(); float64(n[0])*float64(n[1])*float64(n[2]) > float64(len(x.boxes)) { // more buckets than boxes
		for i := range x.boxes {
			if part, some := b.Cut(x.boxes[i]); some && !f(i, part) {
				return
			}
		}
		return
	}
	x.over(b, func(at [3]int) bool {
	next:
		for _, i := range x.buckets[at] {
			part, some := b.Cut(x.boxes[i])
			if !some {
				continue
			}
			for a := range 3 { // only in the bucket where what they have in common begins
				if floor(part.Lo[a], x.size[a]) != at[a] {
					continue next
				}
			}
			if !f(int(i), part) {
				return false
			}
		}
		return true
	})
}
