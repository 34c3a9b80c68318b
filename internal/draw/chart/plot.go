package chart

import "image/color"

// A Plot is a panel with two axes. Without a drawable value it is empty.
type Plot struct {
	Title  string
	Height float64 // total height, in points
	X, Y   Axis
	Line   Line
	Empty  string // text if the plot has no drawable values
}

// A Line connects points. It has a gap at each undrawable value and is clipped at the axes.
type Line struct {
	Points [][2]float64
	Color  color.RGBA
	Width  float64 // in points
	Dots   bool    // draw dots at the points
}

// scales returns the axes of a plot, without positions on the page.
func (p *Plot) scales() (x, y scale, ok bool) {
	var xs, ys []float64
	for _, v := range p.Line.Points {
		if p.X.drawable(v[0]) && p.Y.drawable(v[1]) {
			xs, ys = append(xs, v[0]), append(ys, v[1])
		}
	}
	x.axis, y.axis = &p.X, &p.Y
	var okX, okY bool
	x.lo, x.hi, okX = p.X.ends(xs)
	y.lo, y.hi, okY = p.Y.ends(ys)
	return x, y, okX && okY && len(xs) > 0
}

const (
	panelTitle = 22.0 // height
	axisNames  = 20.0 // height of the values below the X axis
	axisLabel  = 18.0
)

// inside returns the height of the data area.
func (p *Plot) inside() float64 {
	h := p.Height - p.top() - axisNames
	if p.X.Label != "" {
		h -= axisLabel
	}
	return max(h, 1)
}

// top returns the height above the data area.
func (p *Plot) top() float64 {
	if p.Title != "" {
		return panelTitle
	}
	return 4
}

// margin returns the width to the left of the data area.
func (p *Plot) margin(d *Pen) (left float64) {
	_, y, ok := p.scales()
	if !ok {
		return 0
	}
	y.from = p.inside()
	for _, t := range y.upwards() {
		left = max(left, d.Width(t.text, tickStyle)+8)
	}
	return left
}

// draw draws the plot; left is its margin.
func (p *Plot) draw(d *Pen, r Rect, left float64) {
	d.Write(p.Title, r.X, r.Y+11, r.W, Style{Size: 11, Bold: true, Color: Ink})
	x, y, ok := p.scales()
	area := Box(r.X+left, r.Y+p.top(), max(r.W-left-rightMargin, 1), p.inside())
	if !ok {
		d.Write(p.Empty, area.X, area.Y+20, area.W, Style{Size: 10, Color: Soft})
		return
	}
	bottom := area.Y + area.H
	x.from, x.to, y.from, y.to = area.X, area.X+area.W, bottom, area.Y
	if p.Y.Down {
		y.from, y.to = y.to, y.from
	}
	d.placed = &placed{area, x, y}
	st := tickStyle
	st.Align = 1
	for _, t := range y.upwards() {
		d.Line(Grid, 0.6, area.X, t.at, area.X+area.W, t.at)
		d.Write(t.text, area.X-6, t.at+3.5, left-6, st)
	}
	x.below(d, area, true)
	d.Line(Ink, 0.9, area.X, bottom, area.X+area.W, bottom)
	p.Line.draw(d, &x, &y, area)
}

// draw draws the line.
func (l *Line) draw(d *Pen, x, y *scale, area Rect) {
	var pieces [][][2]float64
	var run [][2]float64 // consecutive drawable points
	end := func() {
		for _, p := range run {
			if _, _, ok := clip(p, p, area); ok && (l.Dots || len(run) == 1) { // a single point is not a line
				d.Dot(l.Color, p[0], p[1], 1.4*l.Width)
			}
		}
		pieces, run = append(pieces, Cut(run, area)...), nil
	}
	for _, v := range l.Points {
		if x.axis.drawable(v[0]) && y.axis.drawable(v[1]) {
			run = append(run, [2]float64{x.at(v[0]), y.at(v[1])})
		} else {
			end()
		}
	}
	end()
	d.Lines(l.Color, l.Width, pieces...)
}

// Cut returns the pieces of a line inside an area.
func Cut(line [][2]float64, r Rect) (pieces [][][2]float64) {
	for i := 1; i < len(line); i++ {
		from, to, ok := clip(line[i-1], line[i], r)
		switch n := len(pieces) - 1; {
		case !ok:
		case n >= 0 && pieces[n][len(pieces[n])-1] == from:
			pieces[n] = append(pieces[n], to)
		default:
			pieces = append(pieces, [][2]float64{from, to})
		}
	}
	return pieces
}

// clip returns the part of a segment inside an area.
func clip(a, b [2]float64, r Rect) (from, to [2]float64, ok bool) {
	const slack = 1e-6
	t0, t1 := 0.0, 1.0
	for k, ends := range [2][2]float64{{r.X - slack, r.X + r.W + slack}, {r.Y - slack, r.Y + r.H + slack}} {
		delta := b[k] - a[k]
		if delta == 0 {
			if a[k] < ends[0] || a[k] > ends[1] {
				return a, b, false
			}
			continue
		}
		u, v := (ends[0]-a[k])/delta, (ends[1]-a[k])/delta
		t0, t1 = max(t0, min(u, v)), min(t1, max(u, v))
	}
	at := func(t float64) [2]float64 { return [2]float64{a[0] + t*(b[0]-a[0]), a[1] + t*(b[1]-a[1])} }
	from, to = a, b
	if t0 > 0 {
		from = at(t0)
	}
	if t1 < 1 {
		to = at(t1)
	}
	return from, to, t0 <= t1
}
