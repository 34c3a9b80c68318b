package amr_test

import (
	"slices"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/gen"

	"pgregory.net/rapid"
)

// TestFacesOfOneBlock: a single root block with periodic borders touches only itself.
func TestFacesOfOneBlock(t *testing.T) {
	g := gen.Geometry(2, 1, 4, 0, 1)
	g.Periodic = [3]bool{true, true, false}
	tree, err := amr.NewRootTree(&g)
	if err != nil {
		t.Fatal(err)
	}
	for x, y := range tree.Faces {
		t.Errorf("%s and %s", tree.Name(x), tree.Name(y))
	}
}

// faces returns how many periodic images of y share a part of a face with x. It is slow but simple.
func faces(g *amr.Geometry, x, y amr.Index) (n int) {
	lx, ly := x.Level(), y.Level()
	l := max(lx, ly)
	cx, cy, extent := x.Coord(), y.Coord(), g.Extent(l)
	var shifts [3][]int
	for i := range shifts {
		shifts[i] = []int{0}
		if g.Periodic[i] {
			shifts[i] = []int{-extent[i], 0, extent[i]}
		}
	}
	for _, sz := range shifts[2] {
		for _, sy := range shifts[1] {
			for _, sx := range shifts[0] {
				s, touch, overlap := [3]int{sx, sy, sz}, 0, 0
				for i := range g.Rank {
					lo, hi := max(cx[i]<<(l-lx), cy[i]<<(l-ly)+s[i]), min((cx[i]+1)<<(l-lx), (cy[i]+1)<<(l-ly)+s[i])
					if lo == hi {
						touch++
					} else if lo < hi {
						overlap++
					}
				}
				if touch == 1 && overlap == g.Rank-1 {
					n++
				}
			}
		}
	}
	return n
}

func TestFaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		got := map[[2]amr.Index]int{}
		for x, y := range tree.Faces {
			got[[2]amr.Index{x, y}]++
			got[[2]amr.Index{y, x}]++
		}
		leaves := slices.Collect(tree.Leaves())
		for _, x := range leaves[:min(len(leaves), 10)] {
			for _, y := range leaves {
				if n, want := got[[2]amr.Index{x, y}], faces(tree.Geometry(), x, y); x != y && n != want {
					t.Fatalf("%s and %s have %d faces in common, want %d", tree.Name(x), tree.Name(y), n, want)
				}
			}
		}
	})
}
