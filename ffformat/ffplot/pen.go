package ffplot

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

func (d *pen) path(points ...[2]float64) vg.Path {
	var q vg.Path
	for i, p := range points {
		if i == 0 {
			q.Move(d.point(p[0], p[1]))
		} else {
			q.Line(d.point(p[0], p[1]))
		}
	}
	return q
}

func (d *pen) rectangle(x, y, w, h float64) vg.Path {
	q := d.path([2]float64{x, y}, [2]float64{x + w, y}, [2]float64{x + w, y + h}, [2]float64{x, y + h})
	q.Close()
	return q
}

func (d *pen) fill(x, y, w, h float64, c color.Color) {
	if d.c == nil {
		return
	}
	d.c.SetColor(c)
	d.c.Fill(d.rectangle(x, y, w, h))
}

func (d *pen) frame(x, y, w, h, width float64, c color.Color) {
	if d.c == nil {
		return
	}
	d.c.SetColor(c)
	d.c.SetLineWidth(vg.Length(width))
	d.c.Stroke(d.rectangle(x, y, w, h))
}

func (d *pen) line(x0, y0, x1, y1, width float64, c color.Color) {
	if d.c == nil {
		return
	}
	d.c.SetColor(c)
	d.c.SetLineWidth(vg.Length(width))
	d.c.Stroke(d.path([2]float64{x0, y0}, [2]float64{x1, y1}))
}

// hatch draws diagonals through a rectangle. They are in step over the whole
// picture, so that neighbours match.
func (d *pen) hatch(x, y, w, h float64, c color.Color) {
	const step = 5.0
	if d.c == nil {
		return
	}
	first := int((x + y) / step)
	for k := first; float64(k)*step < x+w+y+h; k++ {
		s := float64(k) * step // the diagonal x' + y' = s, from its lower left to its upper right end
		x0, x1 := max(x, s-y-h), min(x+w, s-y)
		if x0 < x1 {
			d.line(x0, s-x0, x1, s-x1, 0.55, c)
		}
	}
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
