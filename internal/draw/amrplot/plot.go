package amrplot

import (
	"cmp"
	"image/color"
	"maps"
	"math"
	"slices"

	"blobio/internal/amr"
	"blobio/internal/draw/chart"
)

// A Plot is a picture of the blocks in a plane, ready to write. It is immutable.
type Plot struct {
	*chart.Page
	title, mesh, seen string
	units             string     // unit of positions, printed after the names of the axes
	area              chart.Rect // area of the domain
	by                string
	byLevel           bool
	plane             *plane
	geometry          amr.Geometry
	colors            []color.RGBA // colour of each group
	counts            []int        // number of cells in each group
	curve             bool
}

// Layout in points.
const (
	margin   = 28.0
	axisLead = 34.0 // space for labels to the left of the picture
	maxTall  = 1.25 // maximum height of the picture divided by its width
)

// Draw makes the picture of the blocks of a mesh, given in curve order. The blocks may include refined blocks, which are not
// drawn. Errors have class ErrUsage.
func Draw(g *amr.Geometry, blocks []amr.Index, o *Options) (*Plot, error) {
	width, err := chart.WidthOf(o.Width)
	if err != nil {
		return nil, err
	}
	p := &Plot{Page: &chart.Page{Width: float64(width)}, title: o.Title, by: o.By, byLevel: o.Groups == nil, geometry: *g, curve: !o.NoCurve}
	if p.plane, err = cut(g, blocks, o); err != nil {
		return nil, err
	}
	p.mesh, p.seen = describe(g, len(blocks), p.plane)
	p.group(o)
	p.Height = p.draw(chart.Measure())
	p.Page.Draw = func(d *chart.Pen) { p.draw(d) }
	return p, nil
}

// group chooses the colours and counts the cells of each group.
func (p *Plot) group(o *Options) {
	if p.byLevel {
		p.colors = chart.Shades(p.plane.hi - p.plane.lo + 1 - p.plane.above)
		for range p.plane.above { // these levels are refined everywhere, so the legend has no blocks of them
			p.colors = append([]color.RGBA{chart.Dead}, p.colors...)
		}
	} else {
		p.colors = owners(slices.Max(o.Groups) + 1)
	}
	p.counts = make([]int, len(p.colors))
	for i := range p.plane.cells {
		p.counts[p.plane.cells[i].group]++
	}
}

// Blocks returns the number of drawn blocks and the number of leaf blocks.
func (p *Plot) Blocks() (drawn, leaves int) { return len(p.plane.cells), p.plane.leaves }

// draw draws everything and returns the height.
func (p *Plot) draw(d *chart.Pen) float64 {
	w := p.Width - 2*margin
	y := d.Heading(margin, margin-10, w, p.title, p.mesh, p.seen) + chart.AboveAxes

	wide, tall := areaOf(p.Width, p.plane.wide)
	p.area = chart.Box(margin+axisLead, y, wide, tall)
	d.Fill(chart.Empty, p.area)
	p.drawCells(d)
	if p.curve {
		p.drawCurve(d)
	}
	y = p.legend(d, p.drawAxes(d)+10)
	return math.Ceil(y + margin/2)
}

// onPage returns the rectangle for a part of the domain.
func (p *Plot) onPage(c *cell) chart.Rect {
	return chart.Box(p.area.X+c.X*p.area.W, p.area.Y+(1-c.Y-c.H)*p.area.H, c.W*p.area.W, c.H*p.area.H)
}

func (p *Plot) drawCells(d *chart.Pen) {
	of := map[int][]chart.Rect{}
	small := p.area.W
	for i := range p.plane.cells {
		c := &p.plane.cells[i]
		r := p.onPage(c)
		small = min(small, r.W, r.H)
		of[c.group] = append(of[c.group], r)
	}
	line := min(0.8, small/7)
	for _, g := range slices.SortedFunc(maps.Keys(of), cmp.Compare[int]) {
		c := p.colors[g]
		d.Fill(c, of[g]...)
		d.Frame(chart.Darker(c, 0.72), line, of[g]...)
	}
}

// dot draws a small octagon.
func dot(d *chart.Pen, x, y, r float64, c color.Color) {
	var p [8][2]float64
	for i, k := range [8][2]float64{{1, .414}, {.414, 1}, {-.414, 1}, {-1, .414}, {-1, -.414}, {-.414, -1}, {.414, -1}, {1, -.414}} {
		p[i] = [2]float64{x + r*k[0], y + r*k[1]}
	}
	d.Polygon(c, p[:]...)
}

// drawCurve draws the curve through the block centres, with its start and end.
func (p *Plot) drawCurve(d *chart.Pen) {
	cells := slices.Clone(p.plane.cells)
	if len(cells) == 0 {
		return
	}
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.nth, b.nth) })
	var ways, jumps [][][2]float64
	at := make([][2]float64, len(cells))
	sum := 0.0
	for i := range cells {
		r := p.onPage(&cells[i])
		at[i] = [2]float64{r.X + r.W/2, r.Y + r.H/2}
		sum += min(r.W, r.H)
	}
	mean := sum / float64(len(cells))
	first := 0
	for i := range cells {
		if last := i+1 == len(cells); last || cells[i+1].nth != cells[i].nth+1 {
			if i > first {
				ways = append(ways, at[first:i+1])
			}
			if !last {
				jumps = append(jumps, at[i:i+2])
			}
			first = i + 1
		}
	}
	width := min(max(mean/14, 0.25), 1.5)
	d.Lines(colorJump, width*0.6, jumps...)
	if mean > 8 {
		d.Lines(color.NRGBA{255, 255, 255, 130}, width*2.2, ways...)
	}
	ink := colorCurve
	if mean < 6 {
		ink = colorFaint
	}
	d.Lines(ink, width, ways...)
	if mean > 14 {
		for _, c := range at {
			dot(d, c[0], c[1], width*1.15, colorCurve)
		}
	}
	r := min(max(mean/6, 2), 4.5)
	for k, c := range []color.Color{colorStart, colorEnd} {
		x := at[k*(len(at)-1)]
		dot(d, x[0], x[1], r+0.9, chart.Paper)
		dot(d, x[0], x[1], r, c)
	}
}
