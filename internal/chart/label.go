package chart

import (
	"cmp"
	"math"
	"slices"
)

var (
	headStyle = Style{Size: 11, Bold: true}
	textStyle = Style{Size: 10, Color: Ink}
	endStyle  = Style{Size: 9.5}
)

// rooms finds room for texts in the area of the data.
type rooms struct {
	area  Rect
	lines [][][2]float64 // of the data
	marks []float64      // X of the lines of marks
	taken []Rect
}

// drawMarks draws the marks: the lines, then dots, then texts where there is room.
func (p *Plot) drawMarks(d *Pen, x, y *scale, rooms *rooms) {
	var seen []Mark
	for _, m := range p.Marks {
		if x.axis.drawable(m.X) && m.X >= x.lo && m.X <= x.hi {
			seen = append(seen, m)
			rooms.marks = append(rooms.marks, x.at(m.X))
		}
	}
	for i, m := range seen {
		at := rooms.marks[i]
		d.Dashed(float64(4*(i%2)), []float64{4, 4}, func() { // two in one place are both seen
			d.Line(m.Color, 1.2, at, y.to, at, y.from)
		})
	}
	var dots [][2]float64
	for i, m := range seen {
		if !y.axis.drawable(m.Y) || m.Y < y.lo || m.Y > y.hi {
			continue
		}
		c, size := [2]float64{rooms.marks[i], y.at(m.Y)}, 5.0
		if slices.ContainsFunc(dots, func(o [2]float64) bool { return math.Hypot(o[0]-c[0], o[1]-c[1]) < 6 }) {
			size = 2.8
		}
		dots = append(dots, c)
		rooms.taken = append(rooms.taken, Box(c[0]-size, c[1]-size, 2*size, 2*size))
		d.Dot(Paper, c[0], c[1], size+1)
		d.Dot(m.Color, c[0], c[1], size)
	}
	for i, m := range seen {
		w, h := d.Width(m.Head, headStyle), 16.0
		if m.Text != "" {
			w, h = max(w, d.Width(m.Text, textStyle)), 30
		}
		if m.Head == "" {
			continue
		}
		r := rooms.find(rooms.marks[i], w+6, h)
		d.Fill(Paper, r)
		st := headStyle
		st.Color = m.Color
		d.Write(m.Head, r.X+3, r.Y+12, 0, st)
		d.Write(m.Text, r.X+3, r.Y+26, 0, textStyle)
	}
}

// find returns the best place for a text of this size beside the line at x, and takes it.
func (f *rooms) find(x, w, h float64) Rect {
	const off, pitch = 5, 6
	best, least := Rect{}, math.Inf(1)
	for y := f.area.Y + 4; y+h <= max(f.area.Y+f.area.H, f.area.Y+4+h); y += pitch {
		for _, left := range []float64{x + off, x - off - w} {
			left = min(max(left, f.area.X), max(f.area.X, f.area.X+f.area.W-w))
			r := Box(left, y, w, h)
			if c := f.cost(r, x); c < least {
				best, least = r, c
			}
		}
	}
	f.taken = append(f.taken, best)
	return best
}

// cost says how much is in the way of a text.
func (f *rooms) cost(r Rect, own float64) (c float64) {
	for _, o := range f.taken {
		if r.X < o.X+o.W && o.X < r.X+r.W && r.Y < o.Y+o.H && o.Y < r.Y+r.H {
			c += 100
		}
	}
	for _, l := range f.lines {
		for i := 1; i < len(l); i++ {
			if _, _, ok := clip(l[i-1], l[i], r); ok {
				c += 20
				break
			}
		}
	}
	for _, x := range f.marks {
		switch {
		case x > r.X && x < r.X+r.W:
			c += 5
		case (x-own)*(r.X+r.W/2-own) > 0 && math.Abs(x-own) < math.Abs(r.X+r.W/2-own):
			c += 5 // another mark is between the text and its own
		}
	}
	return c
}

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
