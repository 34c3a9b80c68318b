package chart

import "math"

// AboveAxes is the height of the label of the Y axis.
const AboveAxes = 18

// Axes draws two axes around an area, and returns the bottom of the axes. The caller draws the contents of the area. Both axes
// need explicit ends; y may have names. The Y values have room points to the left of the area. The Y label is above the area
// and has height AboveAxes.
func Axes(d *Pen, area Rect, x, y *Axis, room float64) float64 {
	d.Frame(Soft, 0.9, area)
	bottom := area.Y + area.H
	if lo, hi, ok := x.ends(nil); ok {
		s := scale{x, lo, hi, area.X, area.X + area.W}
		bottom = s.below(d, area, false)
	}
	lo, hi, ok := y.ends(nil)
	if !ok {
		return bottom
	}
	s := scale{y, lo, hi, area.Y + area.H, area.Y}
	if y.Down {
		s.from, s.to = s.to, s.from
	}
	st := tickStyle
	st.Align = 1
	for _, t := range s.upwards() {
		d.Line(Soft, 0.8, area.X-4, t.at, area.X, t.at)
		d.Write(t.text, area.X-7, t.at+3.5, room-7, st)
	}
	label := Style{Size: 10.5, Color: Ink}
	d.Write(y.Label, area.X-min(room, d.Width(y.Label, label)+7), area.Y-8, room+area.W, label)
	return bottom
}

// below draws the values and the label of an axis under an area, optionally with a grid in the area. It returns the bottom.
func (s *scale) below(d *Pen, area Rect, grid bool) float64 {
	st := tickStyle
	st.Align = 0.5
	bottom := area.Y + area.H
	for _, t := range s.across(d) {
		if grid {
			d.Line(Grid, 0.6, t.at, area.Y, t.at, bottom)
		}
		d.Line(Soft, 0.8, t.at, bottom, t.at, bottom+4)
		d.Write(t.text, t.at, bottom+16, 0, st)
	}
	if s.axis.Label == "" {
		return bottom + axisNames
	}
	d.Write(s.axis.Label, area.X+area.W/2, bottom+34, area.W, Style{Size: 10.5, Color: Ink, Align: 0.5})
	return bottom + axisNames + axisLabel
}

// upwards returns the ticks of an axis from bottom to top.
func (s *scale) upwards() []tick { return s.ticks(min(int(math.Abs(s.to-s.from)/26), 8)) }
