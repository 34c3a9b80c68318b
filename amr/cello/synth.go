package cello

import (
	"slices"

	"blobio/amr"
)

// Synthesize returns the adapt_buffer content of a block of a tree, by the
// rules that hold in checkpoints of the real program (leaves: all of it; the
// real program does not read the rest).
func Synthesize(t *amr.Tree, x amr.Index) *Adapt {
	g := t.Geometry()
	l := x.Level()
	a := &Adapt{Rank: int32(g.Rank), MinLevel: int32(g.MinLevel), MaxLevel: int32(g.MaxLevel)}
	for i := range a.Periodic {
		if g.Periodic[i] {
			a.Periodic[i] = int32(g.Roots[i])
		}
	}
	for c := range a.Last {
		for i := range a.Last[c] {
			a.Last[c][i] = -1
		}
	}
	a.Self = LevelInfo{Index: x, Now: int32(l), Min: int32(l), Max: int32(l)}
	leaf := t.Leaf(x)
	switch {
	case l < 0: // what the real program leaves in them
		a.Self.Min, a.Self.Max = 0, 0
		a.Valid = true
	case leaf:
		a.Valid = true
	default: // will be refined
		a.Self.Min, a.Self.Max = int32(l)+1, int32(l)+1
	}
	var buf [56]amr.Index
	seen := buf[:0]
	a.Neighbours = make([]LevelInfo, 0, 26)
	add := func(n amr.Index, lo, hi int) {
		if slices.Contains(seen, n) {
			return
		}
		seen = append(seen, n)
		now := n.Level()
		info := LevelInfo{Index: n, Now: int32(now), Min: int32(now + lo), Max: int32(now + hi)}
		info.Sibling = l >= 1 && now == l && n.Parent() == x.Parent()
		a.Neighbours = append(a.Neighbours, info)
	}
	coord, extent := x.Coord(), g.Extent(l)
	for face := range 27 {
		f := [3]int{face%3 - 1, face/3%3 - 1, face/9 - 1}
		if f == [3]int{} {
			if l >= 0 {
				a.Curr[face] = int32(l)
			}
			continue
		}
		n, ok := step(g, coord, extent, l, f, l < 0)
		if !ok {
			continue
		}
		switch {
		case l < 0:
			if t.Has(n) {
				add(n, -1, 1)
			}
		case t.Leaf(n): // first, being the most frequent
			a.Curr[face] = int32(l)
			if leaf {
				add(n, 0, 0)
			}
		case t.Refined(n):
			a.Curr[face] = int32(l) + 1
			if leaf {
				touching(g.Rank, f, func(c [3]int) { add(n.Child(c), 0, 0) })
			}
		case l == 0: // a root block that is missing
		default:
			p := n.Parent()
			for p.Level() > 0 && !t.Has(p) { // of a tree that is not balanced
				p = p.Parent()
			}
			a.Curr[face] = int32(p.Level())
			if leaf && t.Has(p) {
				add(p, 0, 0)
			}
		}
	}
	a.Next = a.Curr
	return a
}

// step returns the block of the same level one step away; ok is false beyond
// a border and on axes that the domain does not have.
func step(g *amr.Geometry, c, extent [3]int, level int, f [3]int, wrap bool) (amr.Index, bool) {
	for i := range c {
		if f[i] != 0 && i >= g.Rank {
			return amr.Index{}, false
		}
		c[i] += f[i]
		if c[i] < 0 || c[i] >= extent[i] {
			if !g.Periodic[i] && !wrap {
				return amr.Index{}, false
			}
			c[i] = (c[i] + extent[i]) % extent[i]
		}
	}
	return amr.At(level, c), true
}

// touching calls visit for the children of a neighbour in direction f that
// touch the block it is the neighbour of.
func touching(rank int, f [3]int, visit func(c [3]int)) {
	for k := range 1 << rank {
		c := [3]int{k & 1, k >> 1 & 1, k >> 2 & 1}
		ok := true
		for i := range rank {
			if f[i] < 0 && c[i] == 0 || f[i] > 0 && c[i] == 1 {
				ok = false
			}
		}
		if ok {
			visit(c)
		}
	}
}
