package fieldplot

import (
	"context"
	"math"

	"blobio/internal/draw/chart"
)

// maxLine is the maximum number of points of a line. For more elements the line shows the minimum and maximum of neighbours.
const maxLine = 4096

// drawLine draws one dimension. Levels are vertical, all other dimensions are horizontal.
func (p *plan) drawLine(ctx context.Context) (*Picture, error) {
	d := *p.dim(p.x)
	a, err := p.axis(ctx, d)
	if err != nil {
		return nil, err
	}
	xs := picks(d.n, maxAxis)
	values, err := p.sample(ctx, p.x, xs, "", nil)
	if err != nil {
		return nil, err
	}
	st := newStats()
	st.add(values)
	p.settle(&st)
	place, err := p.place(ctx)
	if err != nil {
		return nil, err
	}
	f := &chart.Figure{Width: float64(p.o.width())}
	f.Title, f.Lines = p.heading(place, p.summary(&st))
	line := chart.Line{Color: chart.Blue, Width: 1.6, Dots: d.n <= 60}
	for _, i := range thinned(values) {
		at, v := a.value(xs[i]), values[i]
		if a.vertical {
			line.Points = append(line.Points, [2]float64{v, at})
		} else {
			line.Points = append(line.Points, [2]float64{at, v})
		}
	}
	of, along := p.valueAxis(&st), a.chart()
	if d.n > 1 { // the axis ends near the first and the last point, without half a step
		lo, hi := min(a.value(0), a.value(d.n-1)), max(a.value(0), a.value(d.n-1))
		along.Min, along.Max = lo-0.02*(hi-lo), hi+0.02*(hi-lo)
	}
	plot := &chart.Plot{Height: math.Round(float64(p.o.width())*sectionHigh) - 40, X: along, Y: of, Line: line, Empty: "no numbers to draw"}
	if a.vertical {
		plot.X, plot.Y = of, along
		plot.Title, plot.Y.Label = plot.Y.Label, ""
		plot.Height = math.Round(float64(p.o.width()) * 0.7)
	} else {
		plot.Title, plot.Y.Label = of.Label, ""
	}
	f.Plot = plot
	page := f.Page()
	page.Dark, page.Quick = p.o.Dark, true
	out := &Picture{Kind: Line, Title: p.title(), Page: page, held: int64(8*len(values) + 32*len(line.Points))}
	if out.Notes = p.remarks(); out.Notes != nil {
		f.Lines = append(f.Lines, out.Notes...)
		page.Height = f.Page().Height
	}
	out.spot = func(x, y float64) (*Spot, bool) {
		vx, vy, ok := f.Where(x, y)
		if !ok {
			return nil, false
		}
		if a.vertical {
			vx = vy
		}
		i := a.nearest(vx) * int64(len(xs)) / d.n
		sp := &Spot{Value: values[i], Where: a.at(xs[i]), Index: p.index(map[string]int64{p.x: xs[i]})}
		sp.State, sp.Text = p.value(values[i])
		return sp, true
	}
	return out, nil
}

// thinned returns the indices of the values that the line connects.
func thinned(values []float64) (out []int) {
	n := len(values)
	if n <= maxLine {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	const parts = maxLine / 2
	for k := range parts {
		lo, hi := k*n/parts, (k+1)*n/parts
		least, most := lo, lo
		for i := lo; i < hi; i++ {
			if !(values[least] <= values[i]) {
				least = i
			}
			if !(values[most] >= values[i]) {
				most = i
			}
		}
		out = append(out, min(least, most), max(least, most))
	}
	return out
}

// valueAxis returns the axis of the values.
func (s *scale) valueAxis(st *stats) chart.Axis {
	a := chart.Axis{Label: withUnit(s.of.v.Name, paren(unit(s.of.v))), Log: s.log}
	if s.times != nil && s.times.Even() {
		a.Label, a.Text = s.of.v.Name, func(x float64) string { return date(x, s.times) }
	}
	switch {
	case s.o.ranged():
		a.Min, a.Max = s.o.Min, s.o.Max
	case s.log || st.finite() == 0: // the chart chooses the ends
	case st.lo == st.hi:
		a.Min, a.Max = chart.Widened(st.lo, false)
	default:
		room := 0.04 * (st.hi/2 - st.lo/2) * 2
		a.Min, a.Max = st.lo-room, st.hi+room
	}
	return a
}
