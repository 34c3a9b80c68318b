package chart

import "math"

// An Axis is an axis of a plot. The zero value is linear, from 0 to the data.
type Axis struct {
	Label string
	// Min and Max are the ends of the axis. Unless Min < Max, the ends follow from the data: a linear axis includes 0, and a
	// logarithmic axis ends at round numbers.
	Min, Max float64
	Log      bool                 // logarithmic, above 0
	Down     bool                 // a Y axis with the minimum at the top
	Text     func(float64) string // formats a value; nil: formats it as a number
}

// ends returns the ends of an axis for values.
func (a *Axis) ends(values []float64) (lo, hi float64, ok bool) {
	if a.Min < a.Max && a.drawable(a.Min) && a.drawable(a.Max) {
		return a.Min, a.Max, true
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if a.drawable(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	switch {
	case lo > hi:
		return 0, 0, false
	case a.Log:
		if lo, hi = roundBelow(lo), roundAbove(hi); lo >= hi {
			lo, hi = max(lo/2, math.SmallestNonzeroFloat64), min(hi*2, math.MaxFloat64)
		}
		return lo, hi, true
	}
	lo, hi = min(lo, 0), max(hi, 0)
	if lo == hi {
		return 0, 1, true
	}
	const room = 0.05
	more := room * (hi/2 - lo/2) * 2
	if hi > 0 {
		hi = min(hi+more, math.MaxFloat64)
	}
	if lo < 0 {
		lo = max(lo-more, -math.MaxFloat64)
	}
	return lo, hi, true
}

// drawable reports whether the axis can show a value.
func (a *Axis) drawable(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!a.Log || v > 0)
}

// roundBelow returns the largest of 1, 2 and 5 times a power of ten that does not exceed v > 0.
func roundBelow(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2, 1, 0.5} {
		if r := m * p; r > 0 && r <= v*(1+1e-9) {
			return r
		}
	}
	return v
}

// roundAbove returns the smallest of 1, 2 and 5 times a power of ten that is at least v > 0.
func roundAbove(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5, 10} {
		if r := m * p; r >= v*(1-1e-9) && !math.IsInf(r, 0) {
			return r
		}
	}
	return v
}

// scale maps values to positions on the page.
type scale struct {
	axis     *Axis
	lo, hi   float64 // values
	from, to float64 // points
}

func (s *scale) at(v float64) float64 {
	t := 0.0
	if s.axis.Log {
		lo := math.Log(s.lo)
		t = (math.Log(v) - lo) / (math.Log(s.hi) - lo)
	} else {
		t = (v/2 - s.lo/2) / (s.hi/2 - s.lo/2)
	}
	return s.from + t*(s.to-s.from)
}

// value returns the value at a position on the page.
func (s *scale) value(at float64) float64 {
	t := (at - s.from) / (s.to - s.from)
	if s.axis.Log {
		lo := math.Log(s.lo)
		return math.Exp(lo + t*(math.Log(s.hi)-lo))
	}
	return 2 * (s.lo/2 + t*(s.hi/2-s.lo/2))
}

// tick is a position on the page with its text.
type tick struct {
	at   float64
	text string
}

func (s *scale) ticks(n int) []tick {
	values := ticks(s.axis.Log, s.lo, s.hi, n)
	text := s.axis.Text
	if text == nil {
		digits := digitsOf(values)
		text = func(v float64) string { return Text(v, digits) }
	}
	out := make([]tick, len(values))
	for i, v := range values {
		out[i] = tick{s.at(v), text(v)}
	}
	return out
}

var tickStyle = Style{Size: 10, Color: Soft}

// across returns the ticks of an axis from left to right, with texts that do not touch.
func (s *scale) across(d *Pen) []tick {
	const gap = 8
	clear := func(list []tick) bool {
		for i := 1; i < len(list); i++ {
			if list[i].at-list[i-1].at < (d.Width(list[i].text, tickStyle)+d.Width(list[i-1].text, tickStyle))/2+gap {
				return false
			}
		}
		return true
	}
	most := int(math.Abs(s.to-s.from) / 40)
	for n := min(max(most, 2), 12); n >= 2; n-- {
		if list := s.ticks(n); clear(list) {
			return list
		}
	}
	var list []tick
	for _, t := range s.ticks(2) {
		if clear(append(list[:len(list):len(list)], t)) {
			list = append(list, t)
		}
	}
	return list
}
