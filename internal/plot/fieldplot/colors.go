package fieldplot

import (
	"image/color"
	"math"

	"blobio/internal/chart"
)

// bar chooses the colours of values, and where they end.
func (p *plan) bar(s *stats) *chart.ColorBar {
	b := &chart.ColorBar{Ramp: chart.RampOf(p.o.Colors), Axis: chart.Axis{Label: withUnit(p.v.Name, paren(unit(p.v))), Log: p.o.Log}}
	lo, hi := s.lo, s.hi
	if p.o.Log {
		lo = s.positive
	}
	switch both := lo < 0 && hi > 0 && min(-lo, hi) > 0.2*max(-lo, hi); {
	case p.o.ranged():
		lo, hi = p.o.Min, p.o.Max
		both = lo == -hi
		if b.Ramp == nil && both {
			b.Ramp = chart.RampOf("blue-red")
		}
	case b.Ramp == nil && both:
		b.Ramp = chart.RampOf("blue-red")
		lo, hi = -max(-lo, hi), max(-lo, hi)
	case b.Ramp != nil && b.Ramp.Middle && !p.o.Log && lo < 0 && hi > 0:
		lo, hi = -max(-lo, hi), max(-lo, hi)
	}
	if b.Ramp == nil {
		b.Ramp = chart.Ramps[0]
	}
	if !(lo <= hi) { // no values
		lo, hi = 1, 2
	}
	if lo == hi {
		lo, hi = widened(lo, p.o.Log)
	}
	b.Axis.Min, b.Axis.Max = lo, hi
	b.Below, b.Above = s.lo < lo, s.hi > hi
	return b
}

// widened are ends around a single value.
func widened(v float64, log bool) (lo, hi float64) {
	if log {
		return v / 2, v * 2
	}
	d := max(math.Abs(v)*0.05, 1e-300)
	if v == 0 {
		d = 1
	}
	return v - d, v + d
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
	t, ok := b.Place(v)
	if !ok {
		t = 0
		if v > 0 {
			t = 1
		}
	}
	return b.Ramp.At(t)
}
