package mapplot

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"

	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
	"blobio/internal/draw/globe"
)

// A Plot is a picture of a map, ready to write. It is immutable.
type Plot struct {
	*chart.Page
	title, subtitle, note string
	area                  chart.Rect // area of the map
	colors                []color.RGBA
	ranks                 int
	view                  *globe.View // nil for the index space
	keys                  []chart.Key // legend entries other than ranks
}

const margin = 24 // in points

// Draw draws the owners of a map. Errors have class ErrUsage.
func Draw(m *decomp.Map, o *Options) (*Plot, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o == nil {
		o = new(Options)
	}
	if int64(m.Ranks()) > math.MaxInt32 {
		return nil, fault.Usage("%d ranks", m.Ranks())
	}
	ix, err := m.Index()
	if err != nil {
		return nil, err
	}
	width, err := chart.WidthOf(o.Width)
	if err != nil {
		return nil, err
	}
	p := &Plot{Page: &chart.Page{Width: float64(width)}, title: o.Title, ranks: m.Ranks(), colors: palette(m.Ranks())}
	cover := ix.Coverage()
	p.subtitle = describe(m)
	top := p.heading(chart.Measure())
	w := width - 2*margin
	var r *raster
	left := margin
	if o.Lon != nil {
		left, w = left+globe.Room, w-2*globe.Room
		r, err = p.drawGlobe(m, ix, o, w)
	} else {
		r, err = p.drawIndexSpace(m, ix, o, w)
	}
	if err != nil {
		return nil, err
	}
	p.Under, p.At = r.image(p.colors, r.calm()), image.Pt(left, top)
	p.area = chart.Box(float64(left), float64(top), float64(w), float64(r.h/chart.Scale))
	p.addKeys(m, &cover, r)
	p.Height = math.Ceil(p.decorate(chart.Measure())) + margin/2
	p.Page.Draw = func(d *chart.Pen) { p.decorate(d) }
	return p, nil
}

func (p *Plot) drawGlobe(m *decomp.Map, ix *decomp.Index, o *Options, w int) (*raster, error) {
	n := int64(len(o.Lon))
	for i := range o.Lon {
		if !finite(o.Lon[i]) || !finite(o.Lat[i]) || math.Abs(float64(o.Lat[i])) > 90.001 {
			return nil, fault.Usage("element %d is at longitude %v, latitude %v, want finite numbers and a latitude from -90 to 90", i, o.Lon[i], o.Lat[i])
		}
	}
	own, planes, err := locate(m, ix, n, o.Plane)
	if err != nil {
		return nil, err
	}
	p.view = globe.NewView(o.Lon, o.Lat, o.Plate)
	tree, err := globe.NewTree(context.Background(), o.Lon, o.Lat)
	if err != nil {
		return nil, err
	}
	points, err := p.view.Nearest(context.Background(), w*chart.Scale, heightOf(w, p.view.Wide), tree)
	if err != nil {
		return nil, err
	}
	r := &raster{w: points.W, h: points.H, pix: points.Pix}
	for k, i := range r.pix {
		if i >= 0 {
			r.pix[k] = own.of(int64(i))
		}
	}
	p.note = "Each point has the colour of the nearest element."
	if planes > 1 {
		p.note = fmt.Sprintf("Plane %d of %d. %s", o.Plane, planes, p.note)
	}
	return r, nil
}

func finite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// locate finds the owners of the n elements of one plane. The positions span either the slowest dimensions (all levels of a
// position are adjacent) or the fastest dimensions.
func locate(m *decomp.Map, ix *decomp.Index, n, plane int64) (*owners, int64, error) {
	if n == 0 || m.Elems() == 0 || m.Elems()%n != 0 {
		return nil, 0, fault.Usage("%d positions for %d elements %v", n, m.Elems(), m.Dims())
	}
	planes := m.Elems() / n
	if plane >= planes {
		return nil, 0, fault.Usage("plane %d of %d", plane, planes)
	}
	lead, trail := int64(1), m.Elems()
	for _, d := range m.Dims() {
		if trail == n {
			return newOwners(ix, plane*n, n), planes, nil // positions span the fastest dimensions
		}
		lead, trail = lead*d, trail/d
		if lead == n && trail != n {
			own := &owners{all: make([]int32, n)}
			for i := range own.all {
				own.all[i] = pixUncovered
				if q, ok := ix.At(int64(i)*planes + plane); ok {
					own.all[i] = int32(q.Rank)
				}
			}
			return own, planes, nil
		}
	}
	return nil, 0, fault.Usage("%d positions do not match dimensions %v", n, m.Dims())
}

func (p *Plot) drawIndexSpace(m *decomp.Map, ix *decomp.Index, o *Options, w int) (*raster, error) {
	const foldedWide = 2.2
	g, err := newGrid(m.Dims(), o.Plane, foldedWide)
	if err != nil {
		return nil, err
	}
	wide := float64(g.cols) / float64(g.rows)
	if g.folded {
		p.note = fmt.Sprintf("%s elements, %s on each line.", chart.Count(g.n), chart.Count(g.cols))
	} else {
		p.note = fmt.Sprintf("%s rows of %s elements; row 0 is at the top.", chart.Count(g.rows), chart.Count(g.cols))
	}
	if g.planes > 1 {
		p.note = fmt.Sprintf("Plane %d of %s. %s", o.Plane, chart.Count(g.planes), p.note)
	}
	r := newRaster(w*chart.Scale, heightOf(w, min(max(wide, 1.3), 3.6)))
	g.draw(r, newOwners(ix, g.base, g.n))
	return r, nil
}

// heightOf returns the height of a raster that is w points wide, in pixels.
func heightOf(w int, wide float64) int { return chart.Scale * max(1, int(math.Round(float64(w)/wide))) }

func (p *Plot) addKeys(m *decomp.Map, c *decomp.Coverage, r *raster) {
	again := m.Repeats()
	if c.Uncovered > 0 {
		p.keys = append(p.keys, chart.Area(fmt.Sprintf("no owner: %s of %s elements (%s)", chart.Count(c.Uncovered), chart.Count(c.Elems), percent(c.Uncovered, c.Elems)), colorUncovered))
	}
	for _, v := range r.pix {
		if v == pixNone {
			p.keys = append(p.keys, chart.Area("no elements here", colorNone))
			break
		}
	}
	if n := min(c.Overlapped, m.Total()-again.Again-c.Covered); n > 0 {
		p.keys = append(p.keys, chart.Key{Text: fmt.Sprintf("%s elements have several owners; the highest rank is shown", chart.Count(n))})
	}
	if again.Again > 0 {
		p.keys = append(p.keys, chart.Key{Text: again.String()})
	}
}

// describe describes a map in a line.
func describe(m *decomp.Map) string {
	s := m.Stats()
	dims := ""
	for i, d := range m.Dims() {
		if i > 0 {
			dims += " × "
		}
		dims += chart.Count(d)
	}
	out := fmt.Sprintf("%s ranks, %s elements", chart.Count(int64(s.Ranks)), dims)
	if s.Ranks == 1 {
		out = fmt.Sprintf("1 rank, %s elements", dims)
	}
	if s.Reqs == 0 {
		return out
	}
	if s.MinElems == s.MaxElems {
		out += fmt.Sprintf(", %s per rank", chart.Count(s.MaxElems))
	} else {
		out += fmt.Sprintf(", %s to %s per rank", chart.Count(s.MinElems), chart.Count(s.MaxElems))
	}
	return out + fmt.Sprintf(" in %s requests (mean %.3g elements)", chart.Count(s.Reqs), s.MeanRun)
}

func percent(n, of int64) string {
	v := 100 * float64(n) / float64(of)
	if v < 0.1 {
		return "under 0.1 %"
	}
	return fmt.Sprintf("%.3g %%", v)
}
