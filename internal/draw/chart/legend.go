package chart

import (
	"image/color"
	"strings"
)

// Key is a legend entry.
type Key struct {
	Text   string
	Sample func(d *Pen, r Rect) // draws the sample; nil: only text
	Wide   float64              // width of the sample, in points; 0: a square
}

// Area returns the key of filled areas, with a border.
func Area(text string, c color.RGBA) Key {
	return Key{Text: text, Sample: func(d *Pen, r Rect) {
		d.Fill(c, r)
		d.Frame(Darker(c, 0.72), 0.7, r)
	}}
}

// Stroke returns the key of lines.
func Stroke(text string, c color.Color, width float64) Key {
	return Key{Text: text, Wide: 22, Sample: func(d *Pen, r Rect) { d.Line(c, width, r.X, r.Y+r.H/2, r.X+r.W, r.Y+r.H/2) }}
}

// Spot returns the key of dots.
func Spot(text string, c color.Color) Key {
	return Key{Text: text, Sample: func(d *Pen, r Rect) { d.Dot(c, r.X+r.W/2, r.Y+r.H/2, 4) }}
}

// A Legend is a list of keys, from left to right and then down.
type Legend struct {
	Lead string // a word before the keys
	Keys []Key
	Even bool // columns have equal widths
}

var keyStyle = Style{Size: 10, Color: Ink}

const (
	keyBox   = 11.0
	keyPitch = 17.0
)

func (k *Key) wide() float64 {
	switch {
	case k.Sample == nil:
		return 0
	case k.Wide > 0:
		return k.Wide
	}
	return keyBox
}

// Draw draws the legend below y within a width, and returns its bottom.
func (l *Legend) Draw(d *Pen, x, y, width float64) float64 {
	if len(l.Keys) == 0 {
		return y
	}
	const near = 5
	apart, right := 18.0, x+width
	if l.Even {
		apart = 9
	}
	if l.Lead != "" {
		st := keyStyle
		st.Color = Soft
		d.Write(l.Lead, x, y+keyBox-2, 0, st)
		x += d.Width(l.Lead, st) + 10
	}
	widths, widest := make([]float64, len(l.Keys)), 0.0
	for i := range l.Keys {
		widths[i] = d.Width(l.Keys[i].Text, keyStyle)
		if s := l.Keys[i].wide(); s > 0 {
			widths[i] += s + near
		}
		widest = max(widest, widths[i])
	}
	at := x
	for i := range l.Keys {
		k := &l.Keys[i]
		w := widths[i]
		if l.Even {
			w = widest
		}
		if at > x && at+w > right {
			at, y = x, y+keyPitch
		}
		text := at
		if s := k.wide(); s > 0 {
			k.Sample(d, Box(at, y, s, keyBox))
			text += s + near
		}
		d.Write(k.Text, text, y+keyBox-2, max(right-text, 1), keyStyle)
		at += w + apart
	}
	return y + keyPitch
}

// A Strip is the legend of colours that follow numbers from 0: a bar of the colours with some of the numbers below.
type Strip struct {
	Colors []color.RGBA
	Name   func(i int) string
}

// Draw draws the strip below y, and returns its bottom.
func (s *Strip) Draw(d *Pen, x, y, width float64) float64 {
	n := min(len(s.Colors), int(width))
	if n == 0 {
		return y
	}
	step := width / float64(n)
	for i := range n {
		d.Fill(s.Colors[i*len(s.Colors)/n], Box(x+step*float64(i), y, step+0.2, keyBox))
	}
	d.Frame(Rule, 0.7, Box(x, y, width, keyBox))
	last := -1
	for k := range 5 {
		st := keyStyle
		st.Align = float64(k) / 4
		if i := (len(s.Colors) - 1) * k / 4; i > last {
			d.Write(s.Name(i), x+width*st.Align, y+keyBox+11, 0, st)
			last = i
		}
	}
	return y + keyBox + 19
}

// Heading writes a title and lines below y, and returns the bottom. It shrinks a title that is too wide, and wraps lines.
func (d *Pen) Heading(x, y, width float64, title string, lines ...string) float64 {
	if title != "" {
		y += 20
		d.Write(title, x, y, width, Style{Size: 17, Bold: true, Color: Ink})
		y += 5
	}
	st := Style{Size: 10.5, Color: Soft}
	for _, l := range lines {
		for _, part := range d.wrap(l, width, st) {
			y += 14
			d.Write(part, x, y, width, st)
		}
	}
	return y + 5
}

// wrap breaks a text into lines between words.
func (d *Pen) wrap(s string, width float64, st Style) (out []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		switch longer := line + " " + word; {
		case line == "":
			line = word
		case d.Width(longer, st) <= width:
			line = longer
		default:
			out, line = append(out, line), word
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
