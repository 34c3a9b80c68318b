package amrplot

import (
	"fmt"

	"blobio/amr"
	"blobio/internal/chart"
	"blobio/internal/fault"
)

// cell is a leaf block that the plane cuts.
type cell struct {
	chart.Rect // in the domain, 0 to 1, y up
	level, pos int
	group      int // what the colour stands for
	nth        int // number among the leaves, along the curve
}

// plane is where a mesh is cut, and what is seen.
type plane struct {
	axes   [2]int // the axes to the right and up; up is -1 in one dimension
	normal int    // -1 if the mesh has no third axis
	at     float64
	wide   float64 // width over height of the domain
	cells  []cell
	leaves int // of the whole mesh
	lo, hi int // levels of all blocks given
	above  int // coarsest levels that have no leaf block
}

// cut finds the leaf blocks in the plane.
func cut(g *amr.Geometry, blocks []amr.Index, o *Options) (*plane, error) {
	p := &plane{axes: [2]int{0, 1}, normal: -1, wide: 1}
	if g.Rank < 1 || g.Rank > 3 {
		return nil, fault.Usage("rank %d, want 1 to 3", g.Rank)
	}
	for a := range g.Rank {
		if !(g.Upper[a] > g.Lower[a]) {
			return nil, fault.Usage("domain from %v to %v on axis %d", g.Lower[a], g.Upper[a], a)
		}
	}
	switch {
	case g.Rank < 3 && (o.Axis != nil || o.Position != nil):
		return nil, fault.Usage("a mesh of rank %d is drawn whole, it takes no axis or position", g.Rank)
	case g.Rank == 1:
		p.axes[1] = -1
	case g.Rank == 3:
		p.normal = 2
		if o.Axis != nil {
			p.normal = *o.Axis
		}
		p.axes = [3][2]int{{1, 2}, {0, 2}, {0, 1}}[p.normal]
		lo, hi := g.Lower[p.normal], g.Upper[p.normal]
		p.at = lo + (hi-lo)/2
		if o.Position != nil {
			p.at = *o.Position
		}
		if p.at < lo || p.at > hi {
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
	rows := float64(p.hi - p.lo + 1)
	if g.Rank == 1 {
		p.wide = max(12/rows, 1.5)
	} else {
		p.wide = size(p.axes[0]) / size(p.axes[1])
	}
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
		c := cell{level: x.Level(), pos: i, nth: nth}
		c.group = c.level - p.lo
		if o.Color != ByLevel {
			c.group = o.Groups[i]
		}
		a := p.axes[0]
		c.X, c.W = (lo[a]-g.Lower[a])/size(a), (hi[a]-lo[a])/size(a)
		if a = p.axes[1]; a >= 0 {
			c.Y, c.H = (lo[a]-g.Lower[a])/size(a), (hi[a]-lo[a])/size(a)
		} else {
			c.Y, c.H = float64(c.level-p.lo)/rows, 1/rows
		}
		p.cells = append(p.cells, c)
	}
	return p, nil
}

// describe says what the mesh is, and how much of it is seen, in two lines.
func describe(g *amr.Geometry, blocks int, p *plane) (mesh, seen string) {
	times := func(v [3]int) string {
		s := fmt.Sprint(v[0])
		for a := 1; a < g.Rank; a++ {
			s += fmt.Sprintf(" × %d", v[a])
		}
		return s
	}
	mesh = fmt.Sprintf("%d-D, %s, %s root blocks of %s cells", g.Rank, plural(blocks, "block"), times(g.Roots), times(g.Block))
	if p.lo == p.hi {
		mesh += fmt.Sprintf(", level %s", number(p.lo))
	} else {
		mesh += fmt.Sprintf(", levels %s to %s", number(p.lo), number(p.hi))
	}
	switch {
	case p.normal >= 0:
		seen = fmt.Sprintf("%d of %s in the plane %c = %.6g", len(p.cells), plural(p.leaves, "leaf block"), 'x'+rune(p.normal), p.at)
	case g.Rank == 1:
		seen = plural(p.leaves, "leaf block") + ", a row for each level"
	default:
		seen = plural(p.leaves, "leaf block")
	}
	return mesh, seen
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// number writes a number with a minus sign.
func number(n int) string {
	if n < 0 {
		return fmt.Sprintf("−%d", -n)
	}
	return fmt.Sprint(n)
}
