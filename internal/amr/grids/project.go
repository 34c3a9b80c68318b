package grids

import (
	"context"
	"math"
)

// column holds the sums of values times cell lengths of a box along an axis. some is true where a sum has at least one cell.
type column struct {
	sum  []float64
	some []bool
}

// Across returns the two axes other than axis, in order.
func Across(axis int) (u, v int) {
	u, v = (axis+1)%3, (axis+2)%3
	return min(u, v), max(u, v)
}

// Project integrates a field along an axis over the finest cells. The result has one cell along the axis, and the cells of a
// level on the other axes. Sums of coarser cells are repeated, and sums of finer cells are averaged.
func (m *Mesh) Project(ctx context.Context, field, level, axis int) (*Filled, error) {
	whole := Span{Hi: m.Levels[level].Cells}
	whole.Hi[axis] = 1
	out := &Filled{Span: whole, Level: level, Values: make([]float64, whole.Cells()), From: make([]int8, whole.Cells())}
	for i := range out.From {
		out.From[i] = -1
	}
	u, v := Across(axis)
	to := whole.Len()
	err := each(ctx, m, m.boxes(nil), []int{field}, func(r ref, values [][]float64) (column, error) {
		b := &m.Levels[r.level].Boxes[r.box]
		return m.column(r.level, b, axis, values[0]), nil
	}, func(r ref, c column) error {
		b := &m.Levels[r.level].Boxes[r.box]
		fine, coarse := m.scale(r.level, max(level, r.level)), m.scale(min(level, r.level), r.level)
		share := 1 / float64(coarse[u]*coarse[v])
		n := b.Len()
		for k, sum := range c.sum {
			if !c.some[k] {
				continue
			}
			x, y := b.Lo[u]+k%n[u], b.Lo[v]+k/n[u]
			for j := y / coarse[v] * fine[v]; j < (y/coarse[v]+1)*fine[v]; j++ {
				for i := x / coarse[u] * fine[u]; i < (x/coarse[u]+1)*fine[u]; i++ {
					at := j*to[u] + i
					out.Values[at] += sum * share
					out.From[at] = max(out.From[at], int8(r.level))
				}
			}
		}
		return nil
	})
	for i := range out.From {
		if out.From[i] < 0 {
			out.Values[i] = math.NaN()
		}
	}
	return out, err
}

// column sums the cells of a box that no finer level covers.
func (m *Mesh) column(level int, b *Box, axis int, values []float64) column {
	n, length, mask := b.Len(), m.Levels[level].Width[axis], m.mask(level, b)
	flat := n
	flat[axis] = 1
	c := column{make([]float64, flat[0]*flat[1]*flat[2]), make([]bool, flat[0]*flat[1]*flat[2])}
	i := 0
	for z := range n[2] {
		for y := range n[1] {
			for x := range n[0] {
				at := [3]int{x, y, z}
				at[axis] = 0
				k := (at[2]*flat[1]+at[1])*flat[0] + at[0]
				if mask == nil || !mask[i] {
					c.sum[k] += values[i] * length
					c.some[k] = true
				}
				i++
			}
		}
	}
	return c
}

// Slice returns the plane at position at normal to an axis, with the cells of a level. Fill computes the values. If the level is
// not the finest, a value is the mean of the finer cells, also along the axis.
func (m *Mesh) Slice(ctx context.Context, field, level, axis int, at float64) (*Filled, error) {
	l := &m.Levels[level]
	region := Span{Hi: l.Cells}
	region.Lo[axis] = min(max(int(math.Floor((at-m.Lower[axis])/l.Width[axis])), 0), l.Cells[axis]-1)
	region.Hi[axis] = region.Lo[axis] + 1
	return m.Fill(ctx, field, level, region)
}
