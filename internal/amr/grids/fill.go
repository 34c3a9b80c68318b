package grids

import (
	"context"
	"math"
)

// Filled is a uniform array of a region, x fastest.
type Filled struct {
	Span
	Level  int       // level of the cells
	Values []float64 // NaN where no level has a cell
	From   []int8    // for each value, the level from which it comes (for a mean, the finest); -1: none
}

// Fill computes the values of a region of a level. It uses the level's own cells and means of finer cells, and where there are
// none, coarser cells.
func (m *Mesh) Fill(ctx context.Context, field, level int, region Span) (*Filled, error) {
	out := &Filled{Span: region, Level: level, Values: make([]float64, region.Cells()), From: make([]int8, region.Cells())}
	for i := range out.Values {
		out.Values[i], out.From[i] = math.NaN(), -1
	}
	list := m.boxes(func(l int, b *Box) bool {
		_, some := m.at(l, b.Span, level).Cut(region)
		return some
	})
	err := each(ctx, m, list, []int{field}, func(r ref, values [][]float64) ([]float64, error) { return values[0], nil }, func(r ref, values []float64) error {
		b := &m.Levels[r.level].Boxes[r.box]
		if r.level <= level {
			m.spread(out, r.level, b, values, m.mask(r.level, b))
		} else {
			m.gather(out, r.level, b, values, m.mask(r.level, b))
		}
		return nil
	})
	return out, err
}

// scale returns the number of fine cells in a coarse cell on each axis.
func (m *Mesh) scale(coarse, fine int) [3]int {
	s := [3]int{1, 1, 1}
	for l := coarse; l < fine; l++ {
		for a := range s {
			s[a] *= m.ratio[a]
		}
	}
	return s
}

// at returns the span of cells of the level other that contains span b of level.
func (m *Mesh) at(level int, b Span, other int) Span {
	if other >= level {
		return b.Refine(m.scale(level, other))
	}
	return b.Coarsen(m.scale(other, level))
}

// spread stores the cells of a box in an array. The level of the box is the level of the array or coarser.
func (m *Mesh) spread(f *Filled, level int, b *Box, values []float64, mask []bool) {
	s, n, to := m.scale(level, f.Level), b.Len(), f.Len()
	part, some := m.at(level, b.Span, f.Level).Cut(f.Span)
	if !some {
		return
	}
	for z := part.Lo[2]; z < part.Hi[2]; z++ {
		for y := part.Lo[1]; y < part.Hi[1]; y++ {
			row := ((z/s[2]-b.Lo[2])*n[1]+y/s[1]-b.Lo[1])*n[0] - b.Lo[0]
			at := ((z-f.Lo[2])*to[1]+y-f.Lo[1])*to[0] - f.Lo[0]
			for x := part.Lo[0]; x < part.Hi[0]; x++ {
				if i := row + x/s[0]; mask == nil || !mask[i] {
					f.Values[at+x], f.From[at+x] = values[i], int8(level)
				}
			}
		}
	}
}

// gather adds the cells of a box to an array. The level of the box is finer than the level of the array.
func (m *Mesh) gather(f *Filled, level int, b *Box, values []float64, mask []bool) {
	s, to := m.scale(f.Level, level), f.Len()
	w := 1 / float64(s[0]*s[1]*s[2])
	i := 0
	for z := b.Lo[2]; z < b.Hi[2]; z++ {
		for y := b.Lo[1]; y < b.Hi[1]; y++ {
			for x := b.Lo[0]; x < b.Hi[0]; x, i = x+1, i+1 {
				c := [3]int{x / s[0], y / s[1], z / s[2]}
				if mask != nil && mask[i] || c[0] < f.Lo[0] || c[1] < f.Lo[1] || c[2] < f.Lo[2] || c[0] >= f.Hi[0] || c[1] >= f.Hi[1] || c[2] >= f.Hi[2] {
					continue
				}
				at := ((c[2]-f.Lo[2])*to[1]+c[1]-f.Lo[1])*to[0] + c[0] - f.Lo[0]
				if f.From[at] < 0 {
					f.Values[at] = 0
				}
				f.Values[at] += values[i] * w
				f.From[at] = max(f.From[at], int8(level))
			}
		}
	}
}

// Region returns the cells of a level that touch the part of the domain from lo to hi.
func (m *Mesh) Region(level int, lo, hi [3]float64) (b Span) {
	l := &m.Levels[level]
	for a := range 3 {
		b.Hi[a] = 1
		if a >= m.Rank {
			continue
		}
		first := math.Floor((lo[a]-m.Lower[a])/l.Width[a] + 1e-9)
		last := math.Ceil((hi[a]-m.Lower[a])/l.Width[a] - 1e-9)
		b.Lo[a] = int(min(max(first, 0), float64(l.Cells[a]-1)))
		b.Hi[a] = int(min(max(last, float64(b.Lo[a]+1)), float64(l.Cells[a])))
	}
	return b
}
