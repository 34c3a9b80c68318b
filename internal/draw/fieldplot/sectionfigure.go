package fieldplot

import (
	"context"
	"image"
	"math"

	"blobio/internal/draw/chart"
)

const (
	sideRoom    = 60 // points for the values of the Y axis
	sectionHigh = 0.55
)

// drawSection draws two dimensions. If there are more elements than pixels, it draws a selection at even distances.
func (p *plan) drawSection(ctx context.Context) (*Picture, error) {
	x, err := p.axis(ctx, *p.dim(p.x))
	if err != nil {
		return nil, err
	}
	y, err := p.axis(ctx, *p.dim(p.y))
	if err != nil {
		return nil, err
	}
	s := &sheet{width: float64(p.o.width()), dark: p.o.Dark, left: sideRoom, above: chart.AboveAxes}
	s.wide = p.o.width() - 2*margin - sideRoom
	s.high = int(float64(s.wide) * proportion(x, y))
	w, h := s.wide*chart.Scale, s.high*chart.Scale
	xs, ys := picks(x.n, int64(w)), picks(y.n, int64(h))
	values, err := p.sample(ctx, p.x, xs, p.y, ys)
	if err != nil {
		return nil, err
	}
	st := newStats()
	st.add(values)
	p.settle(&st)
	bar := p.bar(&st)
	s.bar = p.shown(bar, &st)
	place, err := p.place(ctx)
	if err != nil {
		return nil, err
	}
	s.title, s.lines = p.heading(place, p.summary(&st))
	if int64(len(xs)) < x.n || int64(len(ys)) < y.n {
		s.notes = append(s.notes, "Not all elements are shown: "+chart.Count(int64(len(xs)))+" of "+chart.Count(x.n)+" along "+x.dim.name+
			", "+chart.Count(int64(len(ys)))+" of "+chart.Count(y.n)+" along "+y.dim.name+".")
	}
	s.notes = append(s.notes, p.remarks()...)
	ax, ay := x.chart(), y.chart()
	s.over = func(d *chart.Pen, area chart.Rect) float64 {
		return chart.Axes(d, area, &ax, &ay, sideRoom)
	}
	cols, rows := cells(x, xs, w, false), cells(y, ys, h, !ay.Down)
	s.img = image.NewRGBA(image.Rect(0, 0, w, h))
	missing := false
	for j, row := range rows {
		for i, col := range cols {
			v := values[row*len(xs)+col]
			missing = missing || v != v
			s.img.SetRGBA(i, j, p.color(bar, v))
		}
	}
	s.keys = keys(missing, false)
	area := s.area(chart.Measure())
	return &Picture{Kind: Section, Title: p.title(), Notes: s.notes, Range: s.ends(), Page: s.page(), held: int64(len(s.img.Pix) + 8*len(values)),
		spot: func(px, py float64) (*Spot, bool) {
			i, j := int(math.Floor((px-area.X)*chart.Scale)), int(math.Floor((py-area.Y)*chart.Scale))
			if i < 0 || j < 0 || i >= w || j >= h {
				return nil, false
			}
			k, l := cols[i], rows[j]
			v := values[l*len(xs)+k]
			sp := &Spot{Value: v, Where: x.at(xs[k]) + ", " + y.at(ys[l]), Index: p.index(map[string]int64{p.x: xs[k], p.y: ys[l]})}
			sp.State, sp.Text = p.value(v)
			return sp, true
		}}, nil
}

// proportion returns the height of a section divided by its width. For two axes of space with the same unit, the section is true
// to scale, unless it would be too flat or too tall.
func proportion(x, y *axis) float64 {
	if !x.space || !y.space || x.unit != y.unit || x.values == nil || y.values == nil {
		return sectionHigh
	}
	const least, most = 0.1, 1.25
	x0, x1 := x.ends()
	y0, y1 := y.ends()
	if p := (y1 - y0) / (x1 - x0); p >= least && p <= most {
		return p
	}
	return sectionHigh
}

// cells returns for each of n pixels along an axis the index in list of the element that the pixel shows. With up, the first
// pixel is at the high end.
func cells(a *axis, list []int64, n int, up bool) []int {
	lo, hi := a.ends()
	out := make([]int, n)
	for i := range out {
		t := (float64(i) + 0.5) / float64(n)
		if up {
			t = 1 - t
		}
		at := a.nearest(lo + t*(hi-lo))
		out[i] = int(min(max(at*int64(len(list))/a.n, 0), int64(len(list))-1))
	}
	return out
}
