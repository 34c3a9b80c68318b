package amr

import (
	"math"
	"testing"
)

// TestStatistics: a square of 2 x 2 root blocks, one of which is refined.
func TestStatistics(t *testing.T) {
	g := &Geometry{Rank: 2, MaxLevel: 1, Roots: [3]int{2, 2, 1}, Block: [3]int{4, 4, 1}, Lower: [3]float64{-1, 0, 0}, Upper: [3]float64{1, 4, 1}}
	tree := NewTree(g)
	for _, c := range [][3]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		if err := tree.Add(At(0, c)); err != nil {
			t.Fatal(err)
		}
	}
	root := At(0, [3]int{1, 0})
	if err := tree.Refine(root); err != nil {
		t.Fatal(err)
	}
	index := Morton{}.Order(tree)
	bytes, cost := make([]int64, len(index)), make([]float64, len(index))
	for i := range bytes {
		bytes[i] = int64(10 * (index[i].Level() + 5))
	}
	var blocks, leaves int
	var cells int64
	share := 0.0
	for _, l := range LevelsOf(tree, g, index, bytes) {
		blocks, leaves, cells, share = blocks+l.Blocks, leaves+l.Leaves, cells+l.Cells, share+l.Share
		if want := int64(l.Blocks) * int64(10*(l.Level+5)); l.Bytes != want {
			t.Errorf("level %d: %d bytes, want %d", l.Level, l.Bytes, want)
		}
	}
	if blocks != len(index) || leaves != 7 || cells != 7*16 || math.Abs(share-1) > 1e-12 {
		t.Errorf("%d blocks, %d leaves, %d cells, %g of the domain; want %d, 7, 112, 1", blocks, leaves, cells, share, len(index))
	}
	if s := root.Share(g); s != 0.25 {
		t.Errorf("a root block covers %g of the domain, want 0.25", s)
	}
	if got := OrderOf(tree, index); got != "morton" {
		t.Errorf("order %q, want morton", got)
	}
	index[0], index[1] = index[1], index[0]
	if got := OrderOf(tree, index); got != "other" {
		t.Errorf("order %q, want other", got)
	}
	index[0], index[1] = index[1], index[0]
	if got := PlansOf(tree, index, bytes, cost, 3); len(got) != 2 || got[0].By != "blocks" || got[1].By != "bytes" {
		t.Errorf("plans without costs: %+v", got)
	}
	cost[len(cost)-1] = 1
	got := PlansOf(tree, index, bytes, cost, 1)
	if len(got) != 3 || got[2].By != "cost" || got[2].Most != 1 || got[0].Most != float64(len(index)) || got[0].Efficiency != 1 || got[0].Surface != 0 {
		t.Errorf("plans of one rank: %+v", got)
	}
}
