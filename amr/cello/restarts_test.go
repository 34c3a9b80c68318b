package cello

import (
	"testing"

	"blobio/internal/amr"
)

// TestRestarts: the predicted outcomes for non-cubic blocks equal the outcomes of Enzo-E's reader over libhdf5.
func TestRestarts(t *testing.T) {
	face := func(axis int) (c [3]bool) { c[axis] = true; return c }
	for _, x := range []struct {
		rank     int
		block    [3]int
		ghost    int
		ghosts   bool
		centered [3]bool
		want     outcome
	}{
		{2, [3]int{16, 16, 1}, 4, false, [3]bool{}, readsRight},
		{2, [3]int{16, 8, 1}, 4, false, [3]bool{}, readsWrong},
		{2, [3]int{24, 16, 1}, 4, false, [3]bool{}, readsWrong},
		{2, [3]int{40, 32, 1}, 4, false, [3]bool{}, readsWrong},
		{2, [3]int{40, 24, 1}, 4, false, [3]bool{}, stops},
		{2, [3]int{32, 16, 1}, 4, false, [3]bool{}, stops},
		{2, [3]int{16, 32, 1}, 4, false, [3]bool{}, stops},
		{2, [3]int{8, 16, 1}, 4, false, [3]bool{}, stops},
		{2, [3]int{12, 16, 1}, 4, false, [3]bool{}, readsWrong},
		{2, [3]int{32, 16, 1}, 4, true, [3]bool{}, stops},
		{2, [3]int{16, 32, 1}, 4, true, [3]bool{}, stops},
		{2, [3]int{16, 16, 1}, 4, true, [3]bool{}, readsRight},
		{3, [3]int{4, 6, 4}, 2, false, [3]bool{}, readsRight},
		{3, [3]int{8, 4, 4}, 2, false, [3]bool{}, readsWrong},
		{3, [3]int{16, 8, 8}, 4, false, [3]bool{}, readsWrong},
		{3, [3]int{8, 8, 16}, 4, false, [3]bool{}, stops},
		{3, [3]int{8, 4, 4}, 2, true, [3]bool{}, stops},
		{3, [3]int{4, 4, 4}, 2, false, face(0), readsWrong},
		{3, [3]int{4, 4, 4}, 2, false, face(1), readsRight},
		{3, [3]int{4, 4, 4}, 2, false, face(2), readsWrong},
		{3, [3]int{4, 4, 4}, 2, true, face(0), stops},
		{3, [3]int{4, 4, 4}, 2, true, face(2), stops},
		{2, [3]int{16, 8, 1}, 0, false, [3]bool{}, stops},
		{2, [3]int{8, 8, 1}, 0, false, [3]bool{}, readsRight},
		{1, [3]int{8, 1, 1}, 3, false, [3]bool{}, readsRight},
	} {
		g := &amr.Geometry{Rank: x.rank, Block: x.block}
		for i := range x.rank {
			g.Ghost[i] = x.ghost
		}
		if got := restarts(g, &amr.FieldSpec{Centered: x.centered}, x.ghosts, false); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}
