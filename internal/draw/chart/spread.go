package chart

import (
	"image/color"
	"math"
)

// Spread describes the values that colours will show.
type Spread struct {
	Label    string
	Ramp     *Ramp // nil: chosen by the values
	Log      bool
	Lo, Hi   float64 // range of the values; Lo > Hi if there are no values
	Positive float64 // the smallest value above 0
	Min, Max float64 // requested ends; both 0: the minimum and maximum
}

// Bar chooses the colours of values and the ends. Values of both signs get a ramp with its middle at 0.
func (s Spread) Bar() *ColorBar {
	b := &ColorBar{Ramp: s.Ramp, Axis: Axis{Label: s.Label, Log: s.Log}}
	lo, hi := s.Lo, s.Hi
	if s.Log {
		lo = s.Positive
	}
	switch both := lo < 0 && hi > 0 && min(-lo, hi) > 0.2*max(-lo, hi); {
	case s.Min != 0 || s.Max != 0:
		lo, hi = s.Min, s.Max
		both = lo == -hi
		if b.Ramp == nil && both {
			b.Ramp = RampOf("blue-red")
		}
	case b.Ramp == nil && both:
		b.Ramp = RampOf("blue-red")
		lo, hi = -max(-lo, hi), max(-lo, hi)
	case b.Ramp != nil && b.Ramp.Middle && !s.Log && lo < 0 && hi > 0:
		lo, hi = -max(-lo, hi), max(-lo, hi)
	}
	if b.Ramp == nil {
		b.Ramp = Ramps[0]
	}
	if !(lo <= hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) { // no values
		lo, hi = 1, 2
	}
	if lo == hi {
		lo, hi = Widened(lo, s.Log)
	}
	b.Axis.Min, b.Axis.Max = lo, hi
	b.Below, b.Above = s.Lo < lo, s.Hi > hi
	return b
}

// Widened returns ends around a single value.
func Widened(v float64, log bool) (lo, hi float64) {
	if log {
		return v / 2, v * 2
	}
	d := max(math.Abs(v)*0.05, 1e-300)
	if v == 0 {
		d = 1
	}
	return v - d, v + d
}

// At returns the colour of a value. A value beyond an end, or non-positive on a logarithmic scale, has the colour of the end.
func (b *ColorBar) At(v float64) color.RGBA {
	t, ok := b.Place(v)
	if !ok {
		t = 0
		if v > 0 {
			t = 1
		}
	}
	return b.Ramp.At(t)
}
