package amrplot

import (
	"fmt"

	"blobio/internal/chart"
)

// drawAxes draws the ends of the domain around it, and returns where they end.
func (p *Plot) drawAxes(d *chart.Pen) float64 {
	axis := func(a int) *chart.Axis {
		return &chart.Axis{Label: string('x' + rune(a)), Min: p.geometry.Lower[a], Max: p.geometry.Upper[a]}
	}
	up := &chart.Axis{}
	if a := p.plane.axes[1]; a >= 0 {
		up = axis(a)
	} else {
		for l := p.plane.lo; l <= p.plane.hi; l++ {
			up.Names = append(up.Names, "level "+number(l))
		}
	}
	return chart.Axes(d, p.area, axis(p.plane.axes[0]), up, axisLead+margin-8)
}

// legend says what the colours mean, and returns where it ends.
func (p *Plot) legend(d *chart.Pen, y float64) float64 {
	width := p.Width - 2*margin
	if p.groups > chart.Few {
		s := chart.Strip{Colors: p.colors, Name: func(i int) string {
			if i == 0 {
				return fmt.Sprintf("%v 0", p.kind)
			}
			return fmt.Sprint(i)
		}}
		y = s.Draw(d, margin, y, width)
	}
	var groups, curve chart.Legend
	for g, n := range p.counts {
		switch {
		case p.groups > chart.Few:
		case p.kind != ByLevel:
			groups.Keys = append(groups.Keys, chart.Area(fmt.Sprintf("%v %d: %s", p.kind, g, plural(n, "block")), p.colors[g]))
		case n > 0: // else it is refined everywhere, or not in the plane
			groups.Keys = append(groups.Keys, chart.Area(fmt.Sprintf("level %s: %s", number(p.plane.lo+g), plural(n, "block")), p.colors[g]))
		}
	}
	if p.none > 0 {
		groups.Keys = append(groups.Keys, chart.Area(fmt.Sprintf("no %v: %s", p.kind, plural(p.none, "block")), chart.Dead))
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
