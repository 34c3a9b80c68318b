package amr

import "slices"

// Neighbour is a leaf that touches a block.
type Neighbour struct {
	Index Index
	// Face is where it touches, seen from the block: one axis that is not 0 is
	// a face, two an edge, three a corner. An axis on which the two overlap is
	// 0, whatever their sizes.
	Face    [3]int
	Wrapped bool // through a periodic border
}

// faceNumber numbers directions of -1, 0, 1: (x+1) + 3(y+1) + 9(z+1). The
// centre is 13.
func faceNumber(f [3]int) int { return f[0] + 1 + 3*(f[1]+1) + 9*(f[2]+1) }

// FaceOf is the direction of a number: (x+1) + 3(y+1) + 9(z+1).
func FaceOf(n int) [3]int { return [3]int{n%3 - 1, n/3%3 - 1, n/9 - 1} }

// faces yields all directions but the centre, x fastest.
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

// Beside returns the block of the same level in direction f, through periodic
// borders (wrapped); ok is false where the domain ends. The block need not
// exist in any tree.
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

// Neighbours returns all leaves that touch x, over faces, edges and corners,
// periodic images included: each leaf once for each Face over which it touches.
// The order is that of FaceOf, and inside of a direction x fastest. With
// one root block on a periodic axis a block can be its own neighbour.
func (t *Tree) Neighbours(x Index) []Neighbour {
	var out []Neighbour
	for f := range t.g.faces {
		y, wrapped, ok := t.g.Beside(x, f)
		if !ok {
			continue
		}
		out = t.touching(out, x, y, f, wrapped)
	}
	return out
}

// LeafNeighbours returns the leaves that touch x, each once, in the order in
// which Neighbours finds them: the neighbour list of an adapt_buffer.
func (t *Tree) LeafNeighbours(x Index) []Index {
	var out []Index
	for _, n := range t.Neighbours(x) {
		if !slices.Contains(out, n.Index) {
			out = append(out, n.Index)
		}
	}
	return out
}

// touching appends the leaves in y, or around it, that touch x; y is the block
// of x's level in direction f.
func (t *Tree) touching(out []Neighbour, x, y Index, f [3]int, wrapped bool) []Neighbour {
	v := t.nodes[y]
	switch {
	case v == present:
		return append(out, Neighbour{y, f, wrapped})
	case v&children != 0:
		return t.inside(out, y, f, wrapped)
	}
	// A coarser leaf: directions in which it overlaps x count as 0.
	at := x.Coord()
	level := x.Level()
	for up := 1; level-up >= t.g.MinLevel; up++ {
		y = y.Parent()
		if !t.Has(y) {
			continue
		}
		if !t.Leaf(y) {
			return out // a block is missing
		}
		face := f
		for i := range face {
			if (at[i]+f[i])>>up == at[i]>>up {
				face[i] = 0
			}
		}
		n := Neighbour{y, face, wrapped}
		if face != [3]int{} && !slices.Contains(out, n) {
			out = append(out, n)
		}
		return out
	}
	return out
}

// inside appends the leaves below y at its side towards -f.
func (t *Tree) inside(out []Neighbour, y Index, f [3]int, wrapped bool) []Neighbour {
	for c := range t.Children(y) {
		at, ok := c.ChildOf(), true
		for i := range t.g.Rank {
			ok = ok && (f[i] >= 0 || at[i] == 1) && (f[i] <= 0 || at[i] == 0)
		}
		if !ok {
			continue
		}
		if t.Leaf(c) {
			out = append(out, Neighbour{c, f, wrapped})
		} else {
			out = t.inside(out, c, f, wrapped)
		}
	}
	return out
}

// FaceLevels returns the level that a checkpoint tells for each of the 27
// directions, by their numbers (see FaceOf): one more than x's if the block of the same level
// there is refined, its own if that is a leaf, else that of the coarser leaf;
// 0 where the domain ends and on axes that it does not have. The centre is x's
// own level. In a 2:1 balanced tree these differ from x's level by at most 1.
func (t *Tree) FaceLevels(x Index) [27]int {
	var out [27]int
	l := x.Level()
	out[13] = l
	for f := range t.g.faces {
		y, _, ok := t.g.Beside(x, f)
		if !ok {
			continue
		}
		at := l
		if t.nodes[y]&children != 0 {
			at = l + 1
		} else {
			for !t.Has(y) && at > t.g.MinLevel {
				y, at = y.Parent(), at-1
			}
		}
		out[faceNumber(f)] = at
	}
	return out
}

// Faces yields each face between two leaves once, as the two blocks: the finer
// one, or of equal ones the one on the lower side, first. A periodic border
// counts too, but not a block that touches itself.
func (t *Tree) Faces(yield func(x, y Index) bool) {
	for x := range t.Leaves() {
		for i := range t.g.Rank {
			for _, d := range [2]int{-1, 1} {
				var f [3]int
				f[i] = d
				y, _, ok := t.g.Beside(x, f)
				if !ok || y == x || t.nodes[y]&children != 0 {
					continue // finer leaves tell themselves
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
