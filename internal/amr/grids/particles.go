package grids

import (
	"context"
	"math"
)

// EachParticles calls each with the particles of a kind, some at a time, in the order of the source: a slice for each column.
func (m *Mesh) EachParticles(ctx context.Context, kind int, each func(columns [][]float64) error) error {
	return m.src.particles(ctx, m, kind, each)
}

// Within keeps the particles whose place is from lo to below hi, of the columns of a kind.
func (k *Kind) Within(columns [][]float64, lo, hi [3]float64) (out [][]float64) {
	out = make([][]float64, len(columns))
	if len(columns) == 0 {
		return out
	}
next:
	for i := range columns[0] {
		for a, c := range k.Positions {
			if c >= 0 && !(lo[a] <= columns[c][i] && columns[c][i] < hi[a]) {
				continue next
			}
		}
		for c := range columns {
			out[c] = append(out[c], columns[c][i])
		}
	}
	return out
}

// Everywhere are the bounds of Within that keep all.
func Everywhere() (lo, hi [3]float64) {
	for a := range lo {
		lo[a], hi[a] = math.Inf(-1), math.Inf(1)
	}
	return lo, hi
}
