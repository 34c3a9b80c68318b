package chart

import (
	"image/color"
	"math"
)

// A Plot is a panel with two axes. What has no value that can be drawn leaves it empty.
type Plot struct {
	Title   string
	Height  float64 // of all of it, in points. 0: 300
	X, Y    Axis
	Lines   []Line
	Columns []Columns
	Empty   string // stands where there is nothing to draw. "": "no data"
}

// A Line goes through points. It ends before a value that cannot be drawn and begins
// again behind it; what is beyond the axes is cut off.
type Line struct {
	Name   string // for the legend. "": not in it
	Points [][2]float64
	Color  color.RGBA
	Width  float64   // points. 0: 2
	Dash   []float64 // lengths of dashes and gaps
	Dots   bool      // at the points
}

// Columns are bars from the lower end of the plot, at 0, 1, 2, ...; several stand side by side.
type Columns struct {
	Name   string // for the legend
	Color  color.RGBA
	Values []float64
}

func (p *Plot) height() float64 {
	if p.Height > 0 {
		return p.Height
	}
	return 300
}

// scales are the axes of a plot without places on paper.
func (p *Plot) scales() (x, y scale, ok bool) {
	var xs, ys []float64
	see := func(a, b float64) {
		if p.X.drawable(a) && p.Y.drawable(b) {
			xs, ys = append(xs, a), append(ys, b)
		}
	}
	for i := range p.Lines {
		for _, v := range p.Lines[i].Points {
			see(v[0], v[1])
		}
	}
	for i := range p.Columns {
		for k, v := range p.Columns[i].Values {
			see(float64(k), v)
		}
	}
	x.axis, y.axis = &p.X, &p.Y
	var okX, okY bool
	x.lo, x.hi, okX = p.X.ends(xs)
	y.lo, y.hi, okY = p.Y.ends(ys)
	if p.Y.Log && len(p.Columns) > 0 && !(p.Y.Min < p.Y.Max) {
		y.lo = max(min(y.lo/2, y.hi/8), math.SmallestNonzeroFloat64) // the least column is to be seen, too
	}
	return x, y, okX && okY && len(xs) > 0
}

const (
	panelTitle = 22.0 // height
	axisNames  = 20.0 // of the values below the X axis
	axisLabel  = 18.0
)

// inside is the height of the area of the data.
func (p *Plot) inside() float64 {
	h := p.height() - p.top() - axisNames
	if p.X.Label != "" {
		h -= axisLabel
	}
	return max(h, 1)
}

// top is what is above that area.
func (p *Plot) top() float64 {
	if p.Title != "" {
		return panelTitle
	}
	return 4
}

// margin is what is left of the area of the data.
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

func (p *Plot) keys() (out []Key) {
	for i := range p.Columns {
		if c := &p.Columns[i]; c.Name != "" {
			out = append(out, Area(c.Name, c.Color))
		}
	}
	for i := range p.Lines {
		if l := &p.Lines[i]; l.Name != "" {
			out = append(out, Stroke(l.Name, l.Color, l.width(), l.Dash...))
		}
	}
	return out
}

// draw draws the plot; left is its margin.
func (p *Plot) draw(d *Pen, r Rect, left float64) {
	d.Write(p.Title, r.X, r.Y+11, r.W, Style{Size: 11, Bold: true, Color: Ink})
	x, y, ok := p.scales()
	area := Box(r.X+left, r.Y+p.top(), max(r.W-left-rightMargin, 1), p.inside())
	if !ok {
		text := p.Empty
		if text == "" {
			text = "no data"
		}
		d.Write(text, area.X, area.Y+20, area.W, Style{Size: 10, Color: Soft})
		return
	}
	bottom := area.Y + area.H
	x.from, x.to, y.from, y.to = area.X, area.X+area.W, bottom, area.Y
	if p.Y.Down {
		y.from, y.to = y.to, y.from
	}
	d.placed = append(d.placed, placed{area, x, y})
	st := tickStyle
	st.Align = 1
	for _, t := range y.upwards() {
		d.Line(Grid, 0.6, area.X, t.at, area.X+area.W, t.at)
		d.Write(t.text, area.X-6, t.at+3.5, left-6, st)
	}
	x.below(d, area, true)
	p.drawColumns(d, &x, &y)
	d.Line(Ink, 0.9, area.X, bottom, area.X+area.W, bottom)
	for i := range p.Lines {
		p.Lines[i].draw(d, &x, &y, area)
	}
}

func (p *Plot) drawColumns(d *Pen, x, y *scale) {
	if len(p.Columns) == 0 {
		return
	}
	const most = 46 // points of all columns of a place
	pitch := math.Abs(x.at(1) - x.at(0))
	wide := min(0.8*pitch, most) / float64(len(p.Columns))
	for i := range p.Columns {
		c := &p.Columns[i]
		for k, v := range c.Values {
			if !y.axis.drawable(v) || float64(k) > x.hi {
				continue
			}
			left, top := x.at(float64(k))+wide*(float64(i)-float64(len(p.Columns))/2), y.clamp(v)
			d.Fill(c.Color, Between(left+0.02*wide, top, left+0.98*wide, y.from))
		}
	}
}

func (l *Line) width() float64 {
	if l.Width > 0 {
		return l.Width
	}
	return 2
}

// draw draws the line.
func (l *Line) draw(d *Pen, x, y *scale, area Rect) {
	var pieces [][][2]float64
	joined := false
	join := func(a, b [2]float64) {
		from, to, ok := clip(a, b, area)
		switch n := len(pieces); {
		case !ok:
		case joined && n > 0 && pieces[n-1][len(pieces[n-1])-1] == from:
			pieces[n-1] = append(pieces[n-1], to)
		default:
			pieces = append(pieces, [][2]float64{from, to})
		}
	}
	var last [2]float64
	seen := func(i int) bool {
		return i < len(l.Points) && x.axis.drawable(l.Points[i][0]) && y.axis.drawable(l.Points[i][1])
	}
	for i, v := range l.Points {
		if !seen(i) {
			joined = false
			continue
		}
		at := [2]float64{x.at(v[0]), y.at(v[1])}
		if joined {
			join(last, at)
		}
		if l.Dots || !joined && !seen(i+1) { // a point alone is no line
			if _, _, ok := clip(at, at, area); ok {
				d.Dot(l.Color, at[0], at[1], 1.4*l.width())
			}
		}
		last, joined = at, true
	}
	d.Dashed(l.Dash, func() { d.Lines(l.Color, l.width(), pieces...) })
}

// clip returns the part of a line that is in an area.
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
