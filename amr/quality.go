package amr

import (
	"iter"

	"blobio/sfc"
)

// Quality measures a cut of blocks into parts: weights w of the blocks in
// order (nil: all 1), and the surface between parts: faces between leaves of
// different parts. order holds all blocks of the tree, starts is the cut.
func Quality(t *Tree, order []Index, starts []int, w []float64) sfc.Quality {
	return QualityOf(t, order, sfc.Owners(starts), len(starts)-1, w)
}

// QualityOf is Quality for parts that need not be contiguous.
func QualityOf(t *Tree, order []Index, owner []int, parts int, w []float64) sfc.Quality {
	q := sfc.Measure(w, owner, parts)
	at := make(map[Index]int32, len(order))
	for i, x := range order {
		at[x] = int32(i)
	}
	q.Surface, q.Faces = sfc.Surface(owner, iter.Seq2[int, int](func(yield func(int, int) bool) {
		for x, y := range t.Faces {
			i, ok := at[x]
			j, ok2 := at[y]
			if ok && ok2 && !yield(int(i), int(j)) {
				return
			}
		}
	}))
	return q
}
