package cello

import (
	"slices"

	"blobio/internal/amr"
)

// synthesize returns the adapt_buffer content of a block of a tree. It follows the rules that were found in Enzo-E's
// checkpoints. For leaves they determine the whole content. Enzo-E does not read the remaining content of other blocks.
func synthesize(t *amr.Tree, x amr.Index) *adaptBuffer {
	s := newSynth(t)
	s.block(x)
	return &s.a
}

// synth makes one adapt_buffer at a time and reuses its memory.
type synth struct {
	t     *amr.Tree
	g     *amr.Geometry
	a     adaptBuffer
	fixed []byte // encoded fields common to all buffers; nil until needed
}

func newSynth(t *amr.Tree) *synth {
	g := t.Geometry()
	s := &synth{t: t, g: g, a: adaptBuffer{Rank: int32(g.Rank), MinLevel: int32(g.MinLevel), MaxLevel: int32(g.MaxLevel)}}
	a := &s.a
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
	a.Neighbours = make([]levelInfo, 0, 56)
	return s
}

func (s *synth) encode(b []byte, x amr.Index) error {
	if s.fixed == nil {
		f := s.a
		f.Neighbours = nil
		var err error
		if s.fixed, err = f.bytes(); err != nil {
			return err
		}
	}
	s.block(x)
	copy(b, s.fixed)
	return s.a.encodeBlock(b)
}

// block sets the fields of one block.
func (s *synth) block(x amr.Index) {
	t, g, a := s.t, s.g, &s.a
	l := x.Level()
	a.Self = levelInfo{Index: x, Now: int32(l), Min: int32(l), Max: int32(l)}
	leaf := t.Leaf(x)
	switch {
	case l < 0: // Enzo-E leaves this value
		a.Self.Min, a.Self.Max = 0, 0
		a.Valid = true
	case leaf:
		a.Valid = true
	default: // a block that will be refined
		a.Self.Min, a.Self.Max = int32(l)+1, int32(l)+1
		a.Valid = false
	}
	a.Curr = [27]int32{}
	a.Neighbours = a.Neighbours[:0]
	// An index has one word per axis. Compute the three possible words for each axis once, and assemble the index of each
	// neighbour from them.
	coord, extent := x.Coord(), g.Extent(l)
	var word [3][3]int32
	var there [3][3]bool
	again := false // on an axis with few blocks, a neighbour can appear on both sides
	for i := range word {
		there[i][1] = true
		word[i][1] = x[i]
		if i >= g.Rank {
			continue
		}
		wrap := g.Periodic[i] || l < 0
		again = again || wrap && extent[i] < 3
		for d := 0; d < 3; d += 2 {
			at := coord
			at[i] += d - 1
			if there[i][d] = at[i] >= 0 && at[i] < extent[i]; !there[i][d] && wrap {
				at[i] = (at[i] + extent[i]) % extent[i]
				there[i][d] = true
			}
			word[i][d] = amr.At(l, at)[i]
		}
	}
	parent := x.Parent()
	add := func(n amr.Index, now, lo, hi int, again bool) {
		if again && slices.ContainsFunc(a.Neighbours, func(i levelInfo) bool { return i.Index == n }) {
			return
		}
		a.Neighbours = append(a.Neighbours, levelInfo{Index: n, Now: int32(now), Min: int32(now + lo), Max: int32(now + hi),
			Sibling: l >= 1 && now == l && n.Parent() == parent})
	}
	for face := range 27 {
		fx, fy, fz := face%3, face/3%3, face/9
		if face == 13 {
			if l >= 0 {
				a.Curr[face] = int32(l)
			}
			continue
		}
		if !there[0][fx] || !there[1][fy] || !there[2][fz] {
			continue
		}
		n := amr.Index{word[0][fx], word[1][fy], word[2][fz]}
		switch has, refined := t.Look(n); {
		case l < 0:
			if has {
				add(n, l, -1, 1, again)
			}
		case has && !refined:
			a.Curr[face] = int32(l)
			if leaf {
				add(n, l, 0, 0, again)
			}
		case has:
			a.Curr[face] = int32(l) + 1
			if leaf {
				touching(g.Rank, [3]int{fx - 1, fy - 1, fz - 1}, func(c [3]int) { add(n.Child(c), l+1, 0, 0, again) })
			}
		case l == 0: // a missing root block
		default:
			p := n.Parent()
			for p.Level() > 0 && !t.Has(p) { // in an unbalanced tree
				p = p.Parent()
			}
			a.Curr[face] = int32(p.Level())
			if leaf && t.Has(p) {
				add(p, p.Level(), 0, 0, true)
			}
		}
	}
	a.Next = a.Curr
}

// touching calls visit for the children of a neighbour in direction f that touch the block.
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
