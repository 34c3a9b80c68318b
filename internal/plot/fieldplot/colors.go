package fieldplot

import (
	"image/color"

	"blobio/internal/chart"
)

// bar chooses the colours of values, and where they end.
func (p *plan) bar(s *stats) *chart.ColorBar {
	o := chart.Spread{Label: withUnit(p.v.Name, paren(unit(p.v))), Ramp: chart.RampOf(p.o.Colors), Log: p.o.Log, Lo: s.lo, Hi: s.hi, Positive: s.positive}
	if p.o.ranged() {
		o.Min, o.Max = p.o.Min, p.o.Max
	}
	return o.Bar()
}

func paren(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// color is that of a value. What is beyond the ends, or not above 0 on a logarithmic scale, has the colour of the end.
func (p *plan) color(b *chart.ColorBar, v float64) color.RGBA {
	if v != v {
		return chart.Tone(chart.Dead, p.o.Dark)
	}
	return b.At(v)
}
