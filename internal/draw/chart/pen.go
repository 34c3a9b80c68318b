package chart

import (
	"image/color"
	"math"
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// A Pen draws with coordinates in points from the upper left corner. Without a
// canvas it only measures.
type Pen struct {
	c      vg.Canvas
	height float64
	hand   text.Handler
	dark   bool
	placed *placed // the last plot drawn
}

// Measure returns a pen that draws nothing.
func Measure() *Pen { return newPen(nil, 0) }

func newPen(c vg.Canvas, height float64) *Pen {
	return &Pen{c: c, height: height, hand: text.Plain{Fonts: font.NewCache(fonts())}}
}

const (
	typeface = "Liberation"
	variant  = "Sans"
)

// fonts are the fonts of texts. Package plot/font/liberation would add ten more fonts (3.5 MB) to the
// binary.
var fonts = sync.OnceValue(func() font.Collection {
	return font.Collection{face(xfont.WeightNormal, liberationsansregular.TTF), face(xfont.WeightBold, liberationsansbold.TTF)}
})

func face(weight xfont.Weight, ttf []byte) font.Face {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(err) // impossible: the font is part of the binary
	}
	return font.Face{Font: font.Font{Typeface: typeface, Variant: variant, Weight: weight}, Face: f}
}

// Rect is an area; X and Y are its upper left corner.
type Rect struct{ X, Y, W, H float64 }

// Box returns the area with a corner and a size.
func Box(x, y, w, h float64) Rect { return Rect{x, y, w, h} }

func (d *Pen) point(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(d.height - y)}
}

// add adds line segments to a path.
func (d *Pen) add(q *vg.Path, points [][2]float64) {
	for i, p := range points {
		if i == 0 {
			q.Move(d.point(p[0], p[1]))
		} else {
			q.Line(d.point(p[0], p[1]))
		}
	}
}

// rects returns the path around rectangles.
func (d *Pen) rects(list []Rect) (q vg.Path) {
	for _, r := range list {
		d.add(&q, [][2]float64{{r.X, r.Y}, {r.X + r.W, r.Y}, {r.X + r.W, r.Y + r.H}, {r.X, r.Y + r.H}})
		q.Close()
	}
	return q
}

func (d *Pen) fill(c color.Color, q vg.Path) {
	if len(q) > 0 {
		d.c.SetColor(d.tone(c))
		d.c.Fill(q)
	}
}

func (d *Pen) stroke(c color.Color, width float64, q vg.Path) {
	if len(q) > 0 {
		d.c.SetColor(d.tone(c))
		d.c.SetLineWidth(vg.Length(width))
		d.c.Stroke(q)
	}
}

// Fill fills areas, as one path.
func (d *Pen) Fill(c color.Color, list ...Rect) {
	if d.c != nil {
		d.fill(c, d.rects(list))
	}
}

// Frame draws the borders of areas, as one path.
func (d *Pen) Frame(c color.Color, width float64, list ...Rect) {
	if d.c != nil {
		d.stroke(c, width, d.rects(list))
	}
}

// Line draws a straight line.
func (d *Pen) Line(c color.Color, width, x0, y0, x1, y1 float64) {
	d.Lines(c, width, [][2]float64{{x0, y0}, {x1, y1}})
}

// Lines draws polylines, all as one path.
func (d *Pen) Lines(c color.Color, width float64, lines ...[][2]float64) {
	if d.c == nil {
		return
	}
	var q vg.Path
	for _, l := range lines {
		d.add(&q, l)
	}
	d.stroke(c, width, q)
}

// Polygon fills the polygon between points.
func (d *Pen) Polygon(c color.Color, points ...[2]float64) {
	if d.c == nil || len(points) == 0 {
		return
	}
	var q vg.Path
	d.add(&q, points)
	q.Close()
	d.fill(c, q)
}

// Dot fills a circle.
func (d *Pen) Dot(c color.Color, x, y, radius float64) {
	if d.c == nil {
		return
	}
	var q vg.Path
	q.Move(d.point(x+radius, y))
	q.Arc(d.point(x, y), vg.Length(radius), 0, 2*math.Pi)
	q.Close()
	d.fill(c, q)
}

// Style is a text style. Align is 0 for left, 0.5 for centred, 1 for right.
type Style struct {
	Size  float64 // in points
	Bold  bool
	Color color.Color
	Align float64
}

func (d *Pen) style(st Style) text.Style {
	t := text.Style{Color: d.tone(st.Color), Handler: d.hand, XAlign: text.XAlignment(-st.Align),
		Font: font.Font{Typeface: typeface, Variant: variant, Size: vg.Length(st.Size)}}
	if st.Bold {
		t.Font.Weight = xfont.WeightBold
	}
	return t
}

// Width returns the width of text as drawn by Write.
func (d *Pen) Width(s string, st Style) float64 {
	t := d.style(st)
	return float64(t.Width(printable(s)))
}

// printable returns text without control characters and invalid bytes, which an SVG cannot hold.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Write writes text with its baseline at y, and shrinks text wider than most; 0 is no limit.
func (d *Pen) Write(s string, x, y, most float64, st Style) {
	if d.c == nil {
		return
	}
	if w := d.Width(s, st); most > 0 && w > most {
		st.Size *= most / w
	}
	d.hand.Draw(d.c, printable(s), d.style(st), d.point(x, y))
}
