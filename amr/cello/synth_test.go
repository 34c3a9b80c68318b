package cello

import (
	"bytes"
	"slices"
	"testing"

	"blobio/internal/amr"

	"pgregory.net/rapid"
)

// TestSynthesizeTrees: the neighbours and levels of a leaf equal the results of package amr, which finds them in another way. A
// synth that is used again gives the same result as a new one.
func TestSynthesizeTrees(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := caseSpec{
			rank: rapid.IntRange(1, 3).Draw(rt, "rank"), maxLevel: rapid.IntRange(0, 2).Draw(rt, "levels"), block: [3]int{2, 2, 2},
			refine: 0.3, seed: rapid.Int64Range(0, 1<<30).Draw(rt, "seed"), typ: amr.Float32, periodic: rapid.Bool().Draw(rt, "periodic"),
		}
		for i := range s.roots {
			s.roots[i] = rapid.IntRange(1, 4).Draw(rt, "roots")
		}
		c := s.build(t)
		tree := amr.NewTree(&c.meta.Geometry)
		for _, b := range c.blocks {
			must(tree.Add(b.Index))
		}
		all := newSynth(tree)
		var one, again [adaptBytes]byte
		for _, b := range c.blocks {
			a := synthesize(tree, b.Index)
			one = [adaptBytes]byte{}
			must(a.encode(one[:]))
			again[4000-1], again[7] = 77, 78
			must(all.encode(again[:], b.Index))
			if !bytes.Equal(one[:], again[:]) {
				rt.Fatalf("block %v: another answer the second time", b.Index)
			}
			if !b.Leaf {
				continue
			}
			var want []amr.Index
			for y := range tree.Leaves() {
				if touch(tree.Geometry(), b.Index, y) {
					want = append(want, y)
				}
			}
			var got []amr.Index
			for _, n := range a.Neighbours {
				got = append(got, amr.Index(n.Index))
				if l := amr.Index(n.Index).Level(); n.Now != int32(l) || n.Min != int32(l) || n.Max != int32(l) || n.Sibling != (l > 0 && amr.Index(n.Index).Parent() == b.Index.Parent()) {
					rt.Fatalf("block %v: neighbour %+v", b.Index, n)
				}
			}
			less := func(x, y amr.Index) int { return slices.Compare(x[:], y[:]) }
			slices.SortFunc(want, less)
			slices.SortFunc(got, less)
			if !slices.Equal(got, want) {
				rt.Fatalf("block %v: neighbours %v, want %v", b.Index, got, want)
			}
			for i := range a.Curr {
				if l := levelBeside(tree, b.Index, amr.FaceOf(i)); int(a.Curr[i]) != l {
					rt.Fatalf("block %v: level %d in direction %v, want %d", b.Index, a.Curr[i], amr.FaceOf(i), l)
				}
			}
		}
	})
}

// touch reports whether two leaves touch, directly or through a periodic border. It is slow but simple.
func touch(g *amr.Geometry, x, y amr.Index) bool {
	lx, ly := x.Level(), y.Level()
	l := max(lx, ly)
	cx, cy, extent := x.Coord(), y.Coord(), g.Extent(l)
	for n := range 27 { // images of y
		in, all := true, true
		for i, d := range amr.FaceOf(n) {
			if d != 0 && !g.Periodic[i] {
				in = false
			}
			if i >= g.Rank {
				continue
			}
			shift := d * extent[i]
			lo, hi := max(cx[i]<<(l-lx), cy[i]<<(l-ly)+shift), min((cx[i]+1)<<(l-lx), (cy[i]+1)<<(l-ly)+shift)
			in = in && lo <= hi
			all = all && lo < hi
		}
		if in && !all {
			return true
		}
	}
	return false
}

// levelBeside returns the level that an adapt_buffer has for a direction: 0 at the end of the domain, the neighbour's level if
// the neighbour is a coarser leaf, the level of x plus one if the neighbour is refined, and otherwise the level of x.
func levelBeside(t *amr.Tree, x amr.Index, f [3]int) int {
	if f == [3]int{} {
		return x.Level()
	}
	y, _, ok := t.Geometry().Beside(x, f)
	if !ok {
		return 0
	}
	if t.Refined(y) {
		return x.Level() + 1
	}
	for !t.Has(y) && y.Level() > t.Geometry().MinLevel {
		y = y.Parent()
	}
	return y.Level()
}
