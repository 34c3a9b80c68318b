package amr_test

import (
	"slices"
	"testing"

	"blobio/amr"
	"blobio/internal/amr/gen"

	"pgregory.net/rapid"
)

func TestNeighbourTable(t *testing.T) {
	tree := smallTree(t)
	at := amr.At
	for _, c := range []struct {
		x    amr.Index
		want []amr.Neighbour
	}{
		// A corner of the domain.
		{at(2, [3]int{0, 0, 0}), []amr.Neighbour{
			{Index: at(2, [3]int{1, 0, 0}), Face: [3]int{1, 0, 0}},
			{Index: at(2, [3]int{0, 1, 0}), Face: [3]int{0, 1, 0}},
			{Index: at(2, [3]int{1, 1, 0}), Face: [3]int{1, 1, 0}}}},
		// Coarser leaves, each once, with the face over which they touch.
		{at(2, [3]int{1, 1, 0}), []amr.Neighbour{
			{Index: at(2, [3]int{0, 0, 0}), Face: [3]int{-1, -1, 0}},
			{Index: at(2, [3]int{1, 0, 0}), Face: [3]int{0, -1, 0}},
			{Index: at(1, [3]int{1, 0, 0}), Face: [3]int{1, 0, 0}},
			{Index: at(2, [3]int{0, 1, 0}), Face: [3]int{-1, 0, 0}},
			{Index: at(1, [3]int{0, 1, 0}), Face: [3]int{0, 1, 0}},
			{Index: at(1, [3]int{1, 1, 0}), Face: [3]int{1, 1, 0}}}},
		// Finer leaves: all that touch.
		{at(1, [3]int{1, 0, 0}), []amr.Neighbour{
			{Index: at(2, [3]int{1, 0, 0}), Face: [3]int{-1, 0, 0}},
			{Index: at(2, [3]int{1, 1, 0}), Face: [3]int{-1, 0, 0}},
			{Index: at(0, [3]int{1, 0, 0}), Face: [3]int{1, 0, 0}},
			{Index: at(1, [3]int{0, 1, 0}), Face: [3]int{-1, 1, 0}},
			{Index: at(1, [3]int{1, 1, 0}), Face: [3]int{0, 1, 0}}}},
	} {
		got := tree.Neighbours(c.x)
		byIndex := func(a, b amr.Neighbour) int { return slices.Compare(a.Index[:], b.Index[:]) }
		slices.SortFunc(got, byIndex)
		slices.SortFunc(c.want, byIndex)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v\nwant %v", tree.Name(c.x), got, c.want)
		}
	}
	fl := tree.FaceLevels(at(1, [3]int{1, 0, 0}))
	want := [27]int{9: 0, 10: 0, 11: 0, 12: 2, 13: 1, 14: 0, 15: 1, 16: 1, 17: 0}
	if fl != want {
		t.Errorf("face levels %v\nwant %v", fl, want)
	}
}

// One root block with periodic borders is its own neighbour.
func TestNeighbourSelf(t *testing.T) {
	g := gen.Geometry(2, 1, 4, 0, 1)
	g.Periodic = [3]bool{true, true, false}
	tree, err := amr.NewRootTree(&g)
	if err != nil {
		t.Fatal(err)
	}
	got := tree.Neighbours(amr.Index{})
	if len(got) != 8 || !got[0].Wrapped || got[0].Index != (amr.Index{}) {
		t.Errorf("%v", got)
	}
	if l := tree.LeafNeighbours(amr.Index{}); !slices.Equal(l, []amr.Index{{}}) {
		t.Errorf("%v", l)
	}
	n := 0
	for range tree.Faces {
		n++
	}
	if n != 0 {
		t.Errorf("%d faces", n)
	}
}

// touch is the slow definition: do two leaves touch, through any image?
func touch(g *amr.Geometry, x, y amr.Index) bool {
	ok := false
	lx, ly := x.Level(), y.Level()
	l := max(lx, ly)
	cx, cy, n := x.Coord(), y.Coord(), g.Extent(l)
	var shifts [3][]int
	for i := range 3 {
		shifts[i] = []int{0}
		if g.Periodic[i] {
			shifts[i] = []int{-n[i], 0, n[i]}
		}
	}
	for _, sz := range shifts[2] {
		for _, sy := range shifts[1] {
			for _, sx := range shifts[0] {
				s, in, all := [3]int{sx, sy, sz}, true, true
				for i := range g.Rank {
					a0, a1 := cx[i]<<(l-lx), (cx[i]+1)<<(l-lx)
					b0, b1 := cy[i]<<(l-ly)+s[i], (cy[i]+1)<<(l-ly)+s[i]
					in = in && a0 <= b1 && b0 <= a1
					all = all && a0 < b1 && b0 < a1
				}
				ok = ok || in && !all
			}
		}
	}
	return ok
}

func TestNeighboursSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		g := tree.Geometry()
		leaves := slices.Collect(tree.Leaves())
		lists := map[amr.Index][]amr.Index{}
		for _, x := range leaves {
			lists[x] = tree.LeafNeighbours(x)
			for _, n := range tree.Neighbours(x) {
				if d := n.Index.Level() - x.Level(); d < -1 || d > 1 {
					t.Fatalf("%s and %s are %d levels apart", tree.Name(x), tree.Name(n.Index), d)
				}
				// Seen from there, x is on the other side.
				back := amr.Neighbour{Index: x, Face: [3]int{-n.Face[0], -n.Face[1], -n.Face[2]}, Wrapped: n.Wrapped}
				if !slices.Contains(tree.Neighbours(n.Index), back) {
					t.Fatalf("%s has neighbour %s on %v, wrapped %v, which does not see it: %v", tree.Name(x), tree.Name(n.Index), n.Face, n.Wrapped, tree.Neighbours(n.Index))
				}
			}
			fl := tree.FaceLevels(x)
			if fl[13] != x.Level() {
				t.Fatalf("%s: level %d at the centre", tree.Name(x), fl[13])
			}
		}
		// Against the definition, for some leaves.
		for _, x := range leaves[:min(len(leaves), 10)] {
			for _, y := range leaves {
				want := touch(g, x, y)
				if got := slices.Contains(lists[x], y); got != want {
					t.Fatalf("%s touches %s: %v, want %v", tree.Name(x), tree.Name(y), got, want)
				}
			}
		}
		// Each face between two leaves is a neighbour over a face, from both
		// sides, and once in Faces.
		faces := 0
		for _, x := range leaves {
			for _, n := range tree.Neighbours(x) {
				if d := n.Face; d[0]*d[0]+d[1]*d[1]+d[2]*d[2] == 1 && n.Index != x {
					faces++
				}
			}
		}
		n := 0
		for range tree.Faces {
			n++
		}
		if 2*n != faces {
			t.Fatalf("%d faces, neighbours over faces %d", n, faces)
		}
	})
}
