package fieldplot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"blobio/internal/draw/chart"
)

// bar chooses the colours of values, and where they end.
func (p *plan) bar(s *stats) *chart.ColorBar {
	o := chart.Spread{Label: withUnit(p.v.Name, paren(unit(p.v))), Ramp: chart.RampOf(p.o.Colors), Log: p.log, Lo: s.lo, Hi: s.hi, Positive: s.positive}
	if p.o.ranged() {
		o.Min, o.Max = p.o.Min, p.o.Max
	}
	return o.Bar()
}

// settle finds out whether the values suit a logarithmic scale.
func (p *plan) settle(s *stats) {
	switch {
	case !p.o.Log:
	case s.finite() > 0 && math.IsInf(s.positive, 1) && !p.o.ranged():
		p.log = false
		p.notes = append(p.notes, "No value is above 0: the scale is not logarithmic.")
	case s.below > 0:
		p.notes = append(p.notes, fmt.Sprintf("%s not above 0, which a logarithmic scale does not have.", plural(s.below, "value")))
	}
}

// shown is the bar of the colours, nil if there are no values that could tell its ends.
func (p *plan) shown(b *chart.ColorBar, s *stats) *chart.ColorBar {
	if s.finite() == 0 && !p.o.ranged() {
		return nil
	}
	return b
}

// remark adds what the one who looks has to know.
func (p *plan) remark(notes []string) {
	for _, n := range notes {
		if !slices.Contains(p.notes, n) {
			p.notes = append(p.notes, n)
		}
	}
}

// remarks are what the one who looks has to know.
func (p *plan) remarks() (out []string) {
	if p.note != "" {
		out = append(out, p.note)
	}
	return append(out, p.notes...)
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
