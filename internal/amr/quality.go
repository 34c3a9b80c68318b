package amr

import "blobio/internal/amr/sfc"

// Quality measures a division of blocks into parts. owner has the part of each block in order, and w has the weights (nil: all
// 1). The surface is the number of faces between leaves of different parts.
func Quality(t *Tree, order []Index, owner []int, parts int, w []float64) sfc.Quality {
	q := sfc.Measure(w, owner, parts)
	part := make(map[Index]int, len(order))
	for i, x := range order {
		part[x] = owner[i]
	}
	for x, y := range t.Faces {
		a, ok := part[x]
		b, ok2 := part[y]
		if !ok || !ok2 {
			continue
		}
		if q.Faces++; a != b {
			q.Surface++
		}
	}
	return q
}
