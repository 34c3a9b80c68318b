package chart

import (
	"cmp"
	"slices"
)

var (
	headStyle = Style{Size: 11, Bold: true}
	endStyle  = Style{Size: 9.5}
)

// drawEnds writes the ends of lines beside the area, one below the other, at most so many points wide.
func (p *Plot) drawEnds(d *Pen, y *scale, area Rect, most float64) {
	type end struct {
		at   float64
		line *Line
	}
	var all []end
	for i := range p.Lines {
		l := &p.Lines[i]
		if n := len(l.Points); l.End != "" && n > 0 && y.axis.drawable(l.Points[n-1][1]) {
			all = append(all, end{y.clamp(l.Points[n-1][1]), l})
		}
	}
	slices.SortStableFunc(all, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	const pitch = 11
	for i := 1; i < len(all); i++ {
		all[i].at = max(all[i].at, all[i-1].at+pitch)
	}
	low := area.Y + area.H
	for i := len(all) - 1; i >= 0; i-- {
		all[i].at = min(all[i].at, low)
		low = all[i].at - pitch
	}
	for _, e := range all {
		st := endStyle
		st.Color = e.line.Color
		d.Write(e.line.End, area.X+area.W+7, e.at+3.4, most, st)
	}
}
