package amrplot

import (
	"image"
	"math"

	"blobio/internal/amr"
	"blobio/internal/amr/grids"
	"blobio/internal/base/fault"
	"blobio/internal/draw/chart"
)

// FieldOptions are the options of DrawField.
type FieldOptions struct {
	Options           // By, Groups and NoCurve do not apply
	Label    string   // label of the colour bar
	Units    string   // unit of positions, printed after the names of the axes
	Lines    []string // lines below the title
	Edges    bool     // draw the borders of the leaf blocks
	Dark     bool     // draw on dark paper
	Colors   string   // a ramp of package chart; "": chosen by the values
	Log      bool
	Min, Max float64 // range of the colours; both 0: from the values
}

// Values are a field in the plane, on equal cells that fill the domain. The horizontal axis varies fastest; NaN means no cell.
type Values struct {
	Wide, Tall int
	V          []float64
}

// Pixels returns the size in pixels of a picture of the plane across an axis, which is 2 if the mesh has two dimensions.
func Pixels(g *amr.Geometry, width, axis int) (wide, tall int) {
	u, v := grids.Across(axis)
	w, h := areaOf(float64(width), (g.Upper[u]-g.Lower[u])/(g.Upper[v]-g.Lower[v]))
	return int(w) * chart.Scale, int(h) * chart.Scale
}

// areaOf returns the size of the domain on the page; over is its width divided by its height.
func areaOf(width, over float64) (wide, tall float64) {
	w := width - 2*margin
	wide, tall = w-axisLead, (w-axisLead)/over
	if most := maxTall * wide; tall > most {
		wide, tall = max(wide*most/tall, 20), most
	}
	return wide, max(tall, 20)
}

// DrawField draws a field in a plane, in true proportions. The blocks are only needed for their edges. Errors have class
// ErrUsage.
func DrawField(g *amr.Geometry, blocks []amr.Index, v *Values, o *FieldOptions) (*chart.Page, error) {
	width, err := chart.WidthOf(o.Width)
	if err != nil {
		return nil, err
	}
	ramp := chart.RampOf(o.Colors)
	if o.Colors != "" && ramp == nil {
		return nil, fault.Usage("colours %q are not known", o.Colors)
	}
	p := &Plot{Page: &chart.Page{Width: float64(width), Dark: o.Dark, Quick: true}, geometry: *g, units: o.Units}
	if p.plane, err = cut(g, blocks, &o.Options); err != nil {
		return nil, err
	}
	s := chart.Spread{Label: o.Label, Ramp: ramp, Log: o.Log, Lo: math.Inf(1), Hi: math.Inf(-1), Positive: math.Inf(1), Min: o.Min, Max: o.Max}
	bare := false
	for _, x := range v.V {
		bare = bare || x != x
		if x-x != 0 {
			continue
		}
		s.Lo, s.Hi = min(s.Lo, x), max(s.Hi, x)
		if x > 0 {
			s.Positive = min(s.Positive, x)
		}
	}
	if o.Log && o.Min == o.Max && math.IsInf(s.Positive, 1) {
		return nil, fault.Usage("a logarithmic scale needs a value above 0, found none")
	}
	bar := s.Bar()
	draw := func(d *chart.Pen) float64 {
		y := d.Heading(margin, margin-10, p.Width-2*margin, o.Title, o.Lines...) + chart.AboveAxes
		wide, tall := areaOf(p.Width, p.plane.wide)
		p.area = chart.Box(math.Ceil(margin+axisLead), math.Ceil(y), math.Floor(wide), math.Floor(tall))
		if o.Edges {
			p.edges(d)
		}
		y = p.drawAxes(d) + 10
		long := min(p.area.W, 560)
		y = bar.Draw(d, p.area.X+(p.area.W-long)/2, y, long) + 8
		if bare {
			l := chart.Legend{Keys: []chart.Key{chart.Area("no value", chart.Dead)}}
			y = l.Draw(d, margin, y, p.Width-2*margin)
		}
		return math.Ceil(y + margin/2)
	}
	p.Height = draw(chart.Measure())
	p.At = image.Pt(int(p.area.X), int(p.area.Y))
	p.Under = image.NewRGBA(image.Rect(0, 0, int(p.area.W)*chart.Scale, int(p.area.H)*chart.Scale))
	w, h := p.Under.Rect.Dx(), p.Under.Rect.Dy()
	none := chart.Tone(chart.Dead, o.Dark)
	for j := range h {
		row := (2*(h-1-j) + 1) * v.Tall / (2 * h)
		for i := range w {
			c := none
			if x := v.V[row*v.Wide+(2*i+1)*v.Wide/(2*w)]; x == x {
				c = bar.At(x)
			}
			p.Under.SetRGBA(i, j, c)
		}
	}
	p.Page.Draw = func(d *chart.Pen) { draw(d) }
	return p.Page, nil
}

// edges draws the borders of the leaf blocks, with thinner lines where blocks are small.
func (p *Plot) edges(d *chart.Pen) {
	of := map[int][]chart.Rect{}
	for i := range p.plane.cells {
		c := &p.plane.cells[i]
		of[c.group] = append(of[c.group], p.onPage(c))
	}
	for group := range p.plane.hi - p.plane.lo + 1 {
		if list := of[group]; len(list) > 0 {
			d.Frame(chart.Halo, min(1.6, list[0].W/10), list...)
			d.Frame(chart.Coast, min(0.6, list[0].W/20), list...)
		}
	}
}
