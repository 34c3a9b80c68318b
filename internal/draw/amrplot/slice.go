package amrplot

import (
	"fmt"

	"blobio/internal/amr"
	"blobio/internal/amr/grids"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
)

// cell is a leaf block that the plane cuts.
type cell struct {
	chart.Rect     // position in the domain, 0 to 1, y up
	pos        int // index in the blocks
	group      int // group that determines the colour
	nth        int // index among the leaves, along the curve
}

// plane is a cut through a mesh, with the visible cells.
type plane struct {
	axes   [2]int // horizontal and vertical axes
	normal int    // axis normal to the plane; -1: the mesh has no third axis
	at     float64
	wide   float64 // width of the domain divided by its height
	cells  []cell
	leaves int // leaf blocks in the whole mesh
	lo, hi int // range of levels of all given blocks
	above  int // number of coarsest levels without leaf blocks
}

// cut finds the leaf blocks in the plane.
func cut(g *amr.Geometry, blocks []amr.Index, o *Options) (*plane, error) {
	p := &plane{axes: [2]int{0, 1}, normal: -1}
	switch g.Rank {
	case 1:
		return nil, fault.Usage("mesh has one dimension, want 2 or 3 to draw it")
	case 3:
		p.normal = o.Axis
		p.axes[0], p.axes[1] = grids.Across(p.normal)
		lo, hi := g.Lower[p.normal], g.Upper[p.normal]
		p.at = lo + (hi-lo)/2
		if o.Position != nil {
			p.at = *o.Position
		}
		if !(p.at >= lo && p.at <= hi) {
			return nil, fault.Usage("position %v on axis %c, want %v to %v", p.at, 'x'+rune(p.normal), lo, hi)
		}
	}
	refined := make(map[amr.Index]bool, len(blocks))
	for i, x := range blocks {
		l := x.Level()
		if i == 0 {
			p.lo, p.hi = l, l
		}
		p.lo, p.hi = min(p.lo, l), max(p.hi, l)
		refined[x.Parent()] = true
	}
	p.above = p.hi - p.lo
	size := func(a int) float64 { return g.Upper[a] - g.Lower[a] }
	p.wide = size(p.axes[0]) / size(p.axes[1])
	for i, x := range blocks {
		if refined[x] {
			continue
		}
		nth := p.leaves
		p.above = min(p.above, x.Level()-p.lo)
		p.leaves++
		lo, hi := x.Bounds(g)
		if n := p.normal; n >= 0 && !(lo[n] <= p.at && p.at < hi[n] || p.at >= g.Upper[n] && hi[n] >= g.Upper[n]) {
			continue
		}
		c := cell{pos: i, nth: nth, group: x.Level() - p.lo}
		if o.Groups != nil {
			c.group = o.Groups[i]
		}
		right, up := p.axes[0], p.axes[1]
		c.X, c.W = (lo[right]-g.Lower[right])/size(right), (hi[right]-lo[right])/size(right)
		c.Y, c.H = (lo[up]-g.Lower[up])/size(up), (hi[up]-lo[up])/size(up)
		p.cells = append(p.cells, c)
	}
	return p, nil
}

// describe describes the mesh and its visible part in two lines.
func describe(g *amr.Geometry, blocks int, p *plane) (mesh, seen string) {
	times := func(v [3]int) string {
		s := fmt.Sprint(v[0])
		for a := 1; a < g.Rank; a++ {
			s += fmt.Sprintf(" × %d", v[a])
		}
		return s
	}
	mesh = fmt.Sprintf("%d-D, %s, %s root blocks of %s cells", g.Rank, chart.Plural(blocks, "block"), times(g.Roots), times(g.Block))
	if p.lo == p.hi {
		mesh += fmt.Sprintf(", level %s", chart.Count(int64(p.lo)))
	} else {
		mesh += fmt.Sprintf(", levels %s to %s", chart.Count(int64(p.lo)), chart.Count(int64(p.hi)))
	}
	seen = chart.Plural(p.leaves, "leaf block")
	if p.normal >= 0 {
		seen = fmt.Sprintf("%d of %s in the plane %c = %.6g", len(p.cells), seen, 'x'+rune(p.normal), p.at)
	}
	return mesh, seen
}
