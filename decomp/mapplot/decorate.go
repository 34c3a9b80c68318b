package mapplot

import (
	"fmt"
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// box returns the place of the map, in points from the lower left corner: left, bottom, right, top.
func (p *Plot) box() [4]vg.Length {
	return [4]vg.Length{vg.Length(p.picture.Min.X), vg.Length(p.height - p.picture.Max.Y),
		vg.Length(p.picture.Max.X), vg.Length(p.height - p.picture.Min.Y)}
}

func rectangle(x0, y0, x1, y1 vg.Length) vg.Path {
	var q vg.Path
	q.Move(vg.Point{X: x0, Y: y0})
	q.Line(vg.Point{X: x1, Y: y0})
	q.Line(vg.Point{X: x1, Y: y1})
	q.Line(vg.Point{X: x0, Y: y1})
	q.Close()
	return q
}

// A pen draws with coordinates in points from the upper left corner.
type pen struct {
	c      vg.Canvas
	height int
	hand   text.Handler
}

func (d *pen) point(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(float64(d.height) - y)}
}

func (d *pen) fill(x, y, w, h float64, c color.Color) {
	a, b := d.point(x, y+h), d.point(x+w, y)
	d.c.SetColor(c)
	d.c.Fill(rectangle(a.X, a.Y, b.X, b.Y))
}

func (d *pen) frame(x, y, w, h float64, c color.Color) {
	a, b := d.point(x, y+h), d.point(x+w, y)
	d.c.SetColor(c)
	d.c.SetLineWidth(0.75)
	d.c.Stroke(rectangle(a.X, a.Y, b.X, b.Y))
}

func (d *pen) line(points [][2]float64, width vg.Length, c color.Color) {
	if len(points) < 2 {
		return
	}
	var q vg.Path
	for i, xy := range points {
		if i == 0 {
			q.Move(d.point(xy[0], xy[1]))
		} else {
			q.Line(d.point(xy[0], xy[1]))
		}
	}
	d.c.SetColor(c)
	d.c.SetLineWidth(width)
	d.c.Stroke(q)
}

// style is how text looks. align is 0 for left, 0.5 for the middle, 1 for right.
type style struct {
	size  vg.Length
	bold  bool
	color color.Color
	align float64
}

// write puts text with its base line at y, made smaller if it is wider than most.
func (d *pen) write(s string, x, y, most float64, st style) {
	t := text.Style{Color: st.color, Handler: d.hand, XAlign: text.XAlignment(-st.align),
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: st.size}}
	if st.bold {
		t.Font.Weight = xfont.WeightBold
	}
	if w := float64(t.Width(s)); most > 0 && w > most {
		t.Font.Size *= vg.Length(most / w)
	}
	d.hand.Draw(d.c, s, t, d.point(x, y))
}

// decorate draws all but the map: title, frame, graticule, legend.
func (p *Plot) decorate(c vg.Canvas) {
	d := &pen{c: c, height: p.height, hand: text.Plain{Fonts: font.NewCache(liberation.Collection())}}
	w := float64(p.width - 2*margin)
	y := float64(margin)
	if p.title != "" {
		y += titleHeight
		d.write(p.title, margin, y-8, w, style{size: 17, bold: true, color: colorInk})
	}
	y += subtitleHeight
	d.write(p.subtitle, margin, y-9, w, style{size: 10.5, color: colorSoft})

	x0, y0 := float64(p.picture.Min.X), float64(p.picture.Min.Y)
	h := float64(p.picture.Dy())
	if p.view == nil {
		d.frame(x0, y0, w, h, colorLine)
	} else {
		p.graticule(d, x0, y0, w, h)
	}
	y = y0 + h + noteHeight - noteGap
	d.write(p.note, margin, y, w, style{size: 8.5, color: colorSoft})
	p.legend(d, y+noteGap)
}

// graticule draws meridians and parallels, and the outline of the globe.
func (p *Plot) graticule(d *pen, x0, y0, w, h float64) {
	v := p.view
	faint := color.NRGBA{20, 24, 30, 70}
	at := func(lon, lat float64) [2]float64 {
		x, y := v.forward(lon, lat)
		return [2]float64{x0 + x*w, y0 + y*h}
	}
	step := math.Pi / 6
	if v.east-v.west < math.Pi {
		step = math.Pi / 18
	}
	const pieces = 72
	along := func(f func(t float64) [2]float64) [][2]float64 {
		out := make([][2]float64, pieces+1)
		for i := range out {
			out[i] = f(float64(i) / pieces)
		}
		return out
	}
	meridian := func(lon float64) [][2]float64 {
		return along(func(t float64) [2]float64 { return at(lon, v.south+t*(v.north-v.south)) })
	}
	for k := math.Ceil(v.west/step + 1e-6); k*step < v.east-1e-6; k++ {
		d.line(meridian(k*step), 0.4, faint)
	}
	for k := math.Ceil(v.south/step + 1e-6); k*step < v.north-1e-6; k++ {
		d.line(along(func(t float64) [2]float64 { return at(v.west+t*(v.east-v.west), k*step) }), 0.4, faint)
	}
	outline := meridian(v.west)
	east := meridian(v.east)
	for i := range east {
		outline = append(outline, east[len(east)-1-i])
	}
	d.line(append(outline, outline[0]), 1, colorSoft)
}

// perRow is the number of legend entries in a row.
func (p *Plot) perRow() int { return max(1, (p.width-2*margin-entryLead)/entryWidth) }

func (p *Plot) legendHeight() int {
	h := stripHeight
	if p.ranks <= few {
		h = 12 + (p.ranks+p.perRow()-1)/p.perRow()*rowHeight
	}
	if len(p.keys) > 0 {
		h += keyHeight
	}
	return h
}

// legend says which colour is which rank, below y.
func (p *Plot) legend(d *pen, y float64) {
	w := float64(p.width - 2*margin)
	small := style{size: 9, color: colorInk}
	if p.ranks <= few {
		y += 12
		if p.ranks > 0 {
			d.write("rank", margin, y+9, entryLead-4, style{size: 9, color: colorSoft})
		}
		for r, c := range p.colors {
			x := margin + entryLead + float64(r%p.perRow())*entryWidth
			top := y + float64(r/p.perRow())*rowHeight
			d.fill(x, top, 11, 11, c)
			d.frame(x, top, 11, 11, darker(c))
			d.write(fmt.Sprint(r), x+15, top+9, entryWidth-17, small)
		}
		y += float64((p.ranks + p.perRow() - 1) / p.perRow() * rowHeight)
	} else {
		y += 8
		n := min(p.ranks, int(w))
		for i := range n {
			x := w * float64(i) / float64(n)
			d.fill(margin+x, y, w/float64(n)+0.2, 11, p.colors[i*p.ranks/n])
		}
		d.frame(margin, y, w, 11, colorLine)
		for k := range 5 {
			r := (p.ranks - 1) * k / 4
			t := small
			t.align = float64(k) / 4
			name := group(int64(r))
			if k == 0 {
				name = "rank 0"
			}
			d.write(name, margin+w*t.align, y+22, 0, t)
		}
		y += stripHeight - 8
	}
	x := float64(margin)
	for _, k := range p.keys {
		if k.color != colorPaper {
			d.fill(x, y+5, 11, 11, k.color)
			d.frame(x, y+5, 11, 11, colorLine)
			x += 15
		}
		d.write(k.text, x, y+14, w-x+margin, small)
		t := text.Style{Handler: d.hand, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}}
		x += float64(t.Width(k.text)) + 18
	}
}
