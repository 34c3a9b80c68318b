package fieldplot

import (
	"context"
	"fmt"
	"math"
	"strings"

	"blobio/internal/draw/chart"
)

const bins = 60

// drawHistogram counts the values of a variable, usually one without known positions.
func (p *plan) drawHistogram(ctx context.Context) (*Picture, error) {
	st := newStats()
	if err := p.each(ctx, p.over, func(_ int64, values []float64) error { st.add(values); return ctx.Err() }); err != nil {
		return nil, err
	}
	p.settle(&st)
	place, err := p.place(ctx)
	if err != nil {
		return nil, err
	}
	b := p.bar(&st) // only the ends of the bar are used
	if !p.o.ranged() && !p.log && st.lo < st.hi {
		b.Axis.Min, b.Axis.Max = st.lo, st.hi
	}
	lo, hi := b.Axis.Min, b.Axis.Max
	counts := make([]float64, bins)
	var beyond int64
	err = p.each(ctx, p.over, func(_ int64, values []float64) error {
		for _, v := range values {
			switch t, ok := b.Place(v); {
			case !ok: // the summary gives the number of these values
			case t >= 0 && t <= 1:
				counts[min(int(t*bins), bins-1)]++
			default:
				beyond++
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	edge := func(i float64) float64 {
		if p.log {
			return math.Exp(math.Log(lo) + i/bins*(math.Log(hi)-math.Log(lo)))
		}
		return lo + i/bins*(hi-lo)
	}
	plot := &chart.Plot{Title: "elements", Height: math.Round(float64(p.o.width())*sectionHigh) - 40, Empty: "no numbers to draw",
		X: chart.Axis{Label: withUnit(p.v.Name, paren(unit(p.v))), Min: lo, Max: hi, Log: p.log}}
	line := chart.Line{Color: chart.Blue, Width: 1.6}
	most := 0.0
	for i, n := range counts {
		line.Points = append(line.Points, [2]float64{edge(float64(i)), n}, [2]float64{edge(float64(i + 1)), n})
		most = max(most, n)
	}
	plot.Y = chart.Axis{Min: 0, Max: max(most*1.05, 1), Text: func(v float64) string {
		if v == math.Round(v) {
			return chart.Count(int64(v))
		}
		return ""
	}}
	if st.finite() > 0 {
		plot.Line = line
	}
	out := &Picture{Kind: Histogram, Title: p.title()}
	out.Notes = p.remarks()
	if p.site == nil && p.o.Kind == Auto {
		out.Notes = append(out.Notes, fmt.Sprintf("A histogram: the dataset has no coordinates along %s.", strings.Join(p.over, ", ")))
	}
	if beyond > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s beyond the ends.", chart.Plural(beyond, "element")))
	}
	fig := &chart.Figure{Width: float64(p.o.width()), Plot: plot}
	fig.Title, fig.Lines = p.heading(append([]string{place, p.summary(&st)}, out.Notes...)...)
	out.Page = fig.Page()
	out.Dark, out.Quick = p.o.Dark, true
	u := unit(p.v)
	out.spot = func(x, y float64) (*Spot, bool) {
		v, _, ok := fig.Where(x, y)
		if !ok {
			return nil, false
		}
		t, _ := b.Place(v)
		i := min(max(int(t*bins), 0), bins-1)
		return &Spot{State: Good, Value: counts[i], Text: chart.Plural(int64(counts[i]), "element"),
			Where: fmt.Sprintf("%s to %s", chart.Text(edge(float64(i)), 5), withUnit(chart.Text(edge(float64(i+1)), 5), u))}, true
	}
	return out, nil
}
