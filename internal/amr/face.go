package amr

// FaceOf returns the direction (x, y, z) whose number (x+1) + 3(y+1) + 9(z+1) is n.
func FaceOf(n int) [3]int { return [3]int{n%3 - 1, n/3%3 - 1, n/9 - 1} }

// faces yields all directions except (0, 0, 0), x fastest.
func (g *Geometry) faces(yield func(f [3]int) bool) {
	for n := range 27 {
		f := FaceOf(n)
		if n == 13 || g.Rank < 3 && f[2] != 0 || g.Rank < 2 && f[1] != 0 {
			continue
		}
		if !yield(f) {
			return
		}
	}
}

// Beside returns the block of the same level in direction f. wrapped is true if that block is on the other side of a periodic
// border. ok is false at the end of the domain. The returned block need not exist in a tree.
func (g *Geometry) Beside(x Index, f [3]int) (y Index, wrapped, ok bool) {
	l := x.Level()
	c, n := x.Coord(), g.Extent(l)
	for i := range c {
		if f[i] == 0 {
			continue
		}
		if i >= g.Rank {
			return Index{}, false, false
		}
		c[i] += f[i]
		if c[i] >= 0 && c[i] < n[i] {
			continue
		}
		if !g.Periodic[i] {
			return Index{}, false, false
		}
		c[i] = (c[i] + n[i]) % n[i]
		wrapped = true
	}
	return At(l, c), wrapped, true
}

// Faces yields the two blocks of each face between leaves, each face once. The finer block comes first; if both have the same
// level, the block on the lower side comes first. Faces across a periodic border are included, except faces of a block with
// itself.
func (t *Tree) Faces(yield func(x, y Index) bool) {
	for x := range t.Leaves() {
		for i := range t.g.Rank {
			for _, d := range [2]int{-1, 1} {
				var f [3]int
				f[i] = d
				y, _, ok := t.g.Beside(x, f)
				if !ok || y == x || t.nodes[y]&children != 0 {
					continue // the finer leaves yield these faces
				}
				if t.Has(y) {
					if d > 0 && !yield(x, y) {
						return
					}
					continue
				}
				for !t.Has(y) && y.Level() > t.g.MinLevel {
					y = y.Parent()
				}
				if t.Leaf(y) && !yield(x, y) {
					return
				}
			}
		}
	}
}
