package amrplot

import (
	"fmt"

	"blobio/internal/draw/chart"
)

// drawAxes labels the ends of the domain's axes, and returns the bottom of the labels.
func (p *Plot) drawAxes(d *chart.Pen) float64 {
	axis := func(a int) *chart.Axis {
		return &chart.Axis{Label: string('x'+rune(a)) + p.units, Min: p.geometry.Lower[a], Max: p.geometry.Upper[a]}
	}
	return chart.Axes(d, p.area, axis(p.plane.axes[0]), axis(p.plane.axes[1]), axisLead+margin-8)
}

// legend explains the colours, and returns its bottom.
func (p *Plot) legend(d *chart.Pen, y float64) float64 {
	width := p.Width - 2*margin
	if len(p.colors) > chart.Few {
		s := chart.Strip{Colors: p.colors, Name: func(i int) string {
			if i == 0 {
				return p.by + " 0"
			}
			return fmt.Sprint(i)
		}}
		y = s.Draw(d, margin, y, width)
	}
	var groups, curve chart.Legend
	for g, n := range p.counts {
		switch {
		case len(p.colors) > chart.Few:
		case !p.byLevel:
			groups.Keys = append(groups.Keys, chart.Area(fmt.Sprintf("%s %d: %s", p.by, g, chart.Plural(n, "block")), p.colors[g]))
		case n > 0: // a level without blocks is refined everywhere, or outside of the plane
			groups.Keys = append(groups.Keys, chart.Area(fmt.Sprintf("level %s: %s", chart.Count(int64(p.plane.lo+g)), chart.Plural(n, "block")), p.colors[g]))
		}
	}
	y = groups.Draw(d, margin, y, width)
	if p.curve && len(p.plane.cells) > 0 {
		curve.Keys = []chart.Key{chart.Spot("first block", colorStart), chart.Spot("last", colorEnd), chart.Stroke("order of the blocks", colorCurve, 1.5)}
		if p.plane.normal >= 0 {
			curve.Keys = append(curve.Keys, chart.Stroke("by blocks outside of the plane", colorJump, 1))
		}
	}
	return curve.Draw(d, margin, y, width)
}
