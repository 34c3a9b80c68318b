package amrplot

import (
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// A pen draws with coordinates in points from the upper left corner. Without a
// canvas it only measures.
type pen struct {
	c      vg.Canvas
	height float64
	hand   text.Handler
}

func newPen(c vg.Canvas, height float64) *pen {
	return &pen{c, height, text.Plain{Fonts: font.NewCache(liberation.Collection())}}
}

func (d *pen) point(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(d.height - y)}
}

func (d *pen) addRect(q *vg.Path, r rect) {
	q.Move(d.point(r.x, r.y))
	q.Line(d.point(r.x+r.w, r.y))
	q.Line(d.point(r.x+r.w, r.y+r.h))
	q.Line(d.point(r.x, r.y+r.h))
	q.Close()
}

// fill fills rectangles, all of a colour, as one path.
func (d *pen) fill(c color.Color, list ...rect) {
	if d.c == nil || len(list) == 0 {
		return
	}
	var q vg.Path
	for _, r := range list {
		d.addRect(&q, r)
	}
	d.c.SetColor(c)
	d.c.Fill(q)
}

func (d *pen) frame(c color.Color, width float64, list ...rect) {
	if d.c == nil || len(list) == 0 {
		return
	}
	var q vg.Path
	for _, r := range list {
		d.addRect(&q, r)
	}
	d.c.SetColor(c)
	d.c.SetLineWidth(vg.Length(width))
	d.c.Stroke(q)
}

// line strokes pieces of a line as one path.
func (d *pen) line(c color.Color, width float64, pieces ...[][2]float64) {
	if d.c == nil {
		return
	}
	var q vg.Path
	for _, p := range pieces {
		for i, xy := range p {
			if i == 0 {
				q.Move(d.point(xy[0], xy[1]))
			} else {
				q.Line(d.point(xy[0], xy[1]))
			}
		}
	}
	if len(q) == 0 {
		return
	}
	d.c.SetColor(c)
	d.c.SetLineWidth(vg.Length(width))
	d.c.Stroke(q)
}

// dot draws a small octagon.
func (d *pen) dot(x, y, r float64, c color.Color) {
	if d.c == nil {
		return
	}
	var q vg.Path
	for i, k := range [8][2]float64{{1, .414}, {.414, 1}, {-.414, 1}, {-1, .414}, {-1, -.414}, {-.414, -1}, {.414, -1}, {1, -.414}} {
		p := d.point(x+r*k[0], y+r*k[1])
		if i == 0 {
			q.Move(p)
		} else {
			q.Line(p)
		}
	}
	q.Close()
	d.c.SetColor(c)
	d.c.Fill(q)
}

// style is how text looks. align is 0 for left, 0.5 for the middle, 1 for right.
type style struct {
	size  float64
	bold  bool
	color color.Color
	align float64
}

func (d *pen) style(st style) text.Style {
	t := text.Style{Color: st.color, Handler: d.hand, XAlign: text.XAlignment(-st.align),
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(st.size)}}
	if st.bold {
		t.Font.Weight = xfont.WeightBold
	}
	return t
}

// width is that of text as write would draw it.
func (d *pen) width(s string, st style) float64 {
	t := d.style(st)
	return float64(t.Width(s))
}

// write puts text with its base line at y, made smaller if it is wider than most.
func (d *pen) write(s string, x, y, most float64, st style) {
	if d.c == nil {
		return
	}
	if w := d.width(s, st); most > 0 && w > most {
		st.size *= most / w
	}
	d.hand.Draw(d.c, s, d.style(st), d.point(x, y))
}
