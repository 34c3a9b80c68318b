package chart

import "image/color"

// Bars are a panel of bars from left to right, in groups below each other.
type Bars struct {
	X      Axis
	Groups []BarGroup
	Spread string // says in the legend what Low to High is. "": not there
	Limit  string // and what Limit is
	Empty  string // stands where there is nothing to draw. "": "no data"
}

// BarGroup is a heading and the bars below it.
type BarGroup struct {
	Title string
	Bars  []Bar
}

// A Bar is made of parts, one after the other.
type Bar struct {
	Name      string
	Parts     []Part
	Low, High float64 // how far measurements are apart: a line over the bar, where Low < High
	Limit     float64 // a mark across the bar. 0: none
	Text      string  // at the right of the panel
}

// Part of a bar, a positive value.
type Part struct {
	Value float64
	Color color.RGBA
}

const (
	barHeight, barPitch  = 13.0, 16.0
	groupHead, groupTail = 20.0, 8.0
)

// limitColor is that of a limit beside what is measured.
var limitColor = color.RGBA{200, 40, 60, 255}

func (b *Bars) height() float64 {
	h := axisNames
	for _, g := range b.Groups {
		h += groupTail + barPitch*float64(len(g.Bars))
		if g.Title != "" {
			h += groupHead
		}
	}
	if b.X.Label != "" {
		h += axisLabel
	}
	return max(h, 60)
}

func (b *Bars) margins(d *Pen) (left, right float64) {
	right = 14
	for _, g := range b.Groups {
		for i := range g.Bars {
			left = max(left, d.Width(g.Bars[i].Name, keyStyle)+24)
			if t := g.Bars[i].Text; t != "" {
				right = max(right, d.Width(t, keyStyle)+16)
			}
		}
	}
	return left, right
}

func (b *Bars) keys() (out []Key) {
	if b.Spread != "" {
		out = append(out, Key{Text: b.Spread, Wide: 22, Sample: func(d *Pen, r Rect) { spread(d, r.X, r.X+r.W, r.Y+r.H/2) }})
	}
	if b.Limit != "" {
		out = append(out, Key{Text: b.Limit, Wide: 4, Sample: func(d *Pen, r Rect) { d.Line(limitColor, 2.2, r.X+2, r.Y-1, r.X+2, r.Y+r.H+1) }})
	}
	return out
}

func (b *Bars) draw(d *Pen, r Rect, left, right float64) {
	var ends []float64
	for _, g := range b.Groups {
		for i := range g.Bars {
			sum := 0.0
			for _, p := range g.Bars[i].Parts {
				if b.X.drawable(p.Value) {
					sum += max(p.Value, 0)
				}
			}
			ends = append(ends, sum, g.Bars[i].High, g.Bars[i].Limit)
		}
	}
	x := scale{axis: &b.X, from: r.X + left, to: max(r.X+r.W-right, r.X+left+1)}
	var ok bool
	if x.lo, x.hi, ok = b.X.ends(ends); !ok {
		text := b.Empty
		if text == "" {
			text = "no data"
		}
		d.Write(text, r.X, r.Y+20, r.W, Style{Size: 10, Color: Soft})
		return
	}
	bottom := r.Y + r.H - axisNames
	if b.X.Label != "" {
		bottom -= axisLabel
	}
	x.below(d, Between(x.from, r.Y, x.to, bottom), true)
	d.Line(Ink, 0.9, x.from, bottom, x.to, bottom)
	y := r.Y
	for _, g := range b.Groups {
		if g.Title != "" {
			y += groupHead
			w := d.Width(g.Title, headStyle)
			d.Fill(Paper, Box(r.X, y-16, min(w, r.W)+4, 14)) // over the grid
			head := headStyle
			head.Color = Ink
			d.Write(g.Title, r.X, y-6, r.W, head)
		}
		for i := range g.Bars {
			g.Bars[i].draw(d, &x, y, left-8, right-8)
			y += barPitch
		}
		y += groupTail
	}
}

// draw draws the bar; left and right is the room for texts beside it.
func (b *Bar) draw(d *Pen, x *scale, y, left, right float64) {
	st := keyStyle
	st.Align = 1
	d.Write(b.Name, x.from-8, y+barHeight-3, left, st)
	at := 0.0
	for _, p := range b.Parts {
		if x.axis.drawable(p.Value) && p.Value > 0 {
			from := max(x.clamp(at), x.from)
			at += p.Value
			d.Fill(p.Color, Between(from, y, x.clamp(at), y+barHeight))
		}
	}
	if b.Low < b.High {
		spread(d, x.clamp(b.Low), x.clamp(b.High), y+barHeight/2)
	}
	if b.Limit > 0 {
		d.Line(Paper, 4, x.clamp(b.Limit), y-1, x.clamp(b.Limit), y+barHeight+1)
		d.Line(limitColor, 2.2, x.clamp(b.Limit), y-1, x.clamp(b.Limit), y+barHeight+1)
	}
	st.Color = Soft
	d.Write(b.Text, x.to+8+right, y+barHeight-3, right, st)
}

// spread draws the line from the least to the greatest of some measurements, to be seen on any colour.
func spread(d *Pen, from, to, y float64) {
	line := [][2]float64{{from, y}, {to, y}}
	ends := [][2]float64{{from, y - 3}, {from, y + 3}}
	other := [][2]float64{{to, y - 3}, {to, y + 3}}
	d.Lines(Paper, 2.6, line, ends, other)
	d.Lines(Ink, 1.1, line, ends, other)
}
