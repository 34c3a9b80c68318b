package bench

import (
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// barPlot is a picture of rates: groups of horizontal bars, with a line from the
// rate of the slowest run to that of the fastest, and a mark where the raw ceiling is.
type barPlot struct {
	title, subtitle string
	groups          []barGroup
	ceiling         string // what the mark is; "": there is none

	c    vg.Canvas
	hand text.Handler
	h    float64
}

type barGroup struct {
	label string
	bars  []bar
}

// bar in MiB/s. raw 0 has no mark.
type bar struct {
	name             string
	median, low, top float64
	raw              float64
}

// Places, in points from the upper left corner.
const (
	barWidth                 = 820.0
	barLeft, barRight        = 300.0, 70.0
	barTop, barFoot          = 92.0, 34.0
	barHeight, barGap        = 13.0, 3.0
	barGroupHead, barGroupLn = 20.0, 10.0
)

var (
	barPaper = color.RGBA{255, 255, 255, 255}
	barInk   = color.RGBA{34, 38, 44, 255}
	barSoft  = color.RGBA{104, 110, 120, 255}
	barGrid  = color.RGBA{228, 230, 234, 255}
	barRaw   = color.RGBA{200, 40, 60, 255}
	barHues  = map[string]color.RGBA{
		"variable-centric": {40, 120, 190, 255},
		"process-centric":  {14, 130, 92, 255},
	}
	barOther = color.RGBA{168, 172, 180, 255} // the work of others
)

func (p *barPlot) layout() (top float64) {
	p.h = barTop + barFoot
	for _, g := range p.groups {
		p.h += barGroupHead + barGroupLn + float64(len(g.bars))*(barHeight+barGap)
		for _, b := range g.bars {
			top = max(top, b.top, b.raw)
		}
	}
	if top <= 0 {
		top = 1
	}
	return top * 1.02
}

// SVG writes the picture as SVG.
func (p *barPlot) SVG(w io.Writer) error {
	top := p.layout()
	c := vgsvg.New(barWidth, vg.Length(p.h))
	p.draw(c, top)
	_, err := c.WriteTo(w)
	return err
}

// PNG writes the picture as PNG, with two pixels to a point.
func (p *barPlot) PNG(w io.Writer) error {
	top := p.layout()
	c := vgimg.NewWith(vgimg.UseWH(barWidth, vg.Length(p.h)), vgimg.UseDPI(144), vgimg.UseBackgroundColor(barPaper))
	p.draw(c, top)
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, c.Image())
}

func (p *barPlot) draw(c vg.Canvas, top float64) {
	p.c, p.hand = c, text.Plain{Fonts: font.NewCache(liberation.Collection())}
	p.box(0, 0, barWidth, p.h, barPaper)
	p.write(p.title, 24, 34, 17, 0, true, barInk)
	p.write(p.subtitle, 24, 53, 10.5, 0, false, barSoft)
	key := "line: slowest to fastest run"
	p.line(24, 68, 44, 68, 1.2, barInk)
	p.write(key, 50, 71.5, 10, 0, false, barSoft)
	if p.ceiling != "" {
		x := 70 + p.width(key, 10)
		p.line(x, 62, x, 74, 2.2, barRaw)
		p.write(p.ceiling, x+7, 71.5, 10, 0, false, barSoft)
	}
	x := func(v float64) float64 { return barLeft + v/top*(barWidth-barLeft-barRight) }
	bottom := p.h - barFoot
	for _, v := range roundTicks(top) {
		p.line(x(v), barTop, x(v), bottom, 0.6, barGrid)
		p.write(fmt.Sprintf("%g", v), x(v), bottom+13, 10, 0.5, false, barSoft)
	}
	p.write("MiB/s", barWidth-24, bottom+13, 10, 1, false, barSoft)
	y := barTop
	for _, g := range p.groups {
		y += barGroupHead
		p.write(g.label, 24, y-6, 11, 0, true, barInk)
		for _, b := range g.bars {
			hue, ok := barHues[b.name]
			for name, h := range barHues { // "variable-centric, 2 processes"
				if len(b.name) > len(name) && b.name[:len(name)] == name {
					hue, ok = h, true
				}
			}
			if !ok {
				hue = barOther
			}
			p.write(b.name, barLeft-8, y+barHeight-3, 10, 1, false, barInk)
			p.box(barLeft, y, x(b.median), y+barHeight, hue)
			mid := y + barHeight/2
			p.line(x(b.low), mid, x(b.top), mid, 1.2, barInk)
			if b.raw > 0 {
				p.line(x(b.raw), y-1, x(b.raw), y+barHeight+1, 2.2, barRaw)
			}
			p.write(fmt.Sprintf("%.0f", b.median), barWidth-24, y+barHeight-3, 10, 1, false, barSoft)
			y += barHeight + barGap
		}
		y += barGroupLn
	}
}

// roundTicks are some round numbers from 0 up to top.
func roundTicks(top float64) (out []float64) {
	step := math.Pow(10, math.Floor(math.Log10(top)))
	for top/step < 4 {
		step /= 2
	}
	for v := 0.0; v <= top; v += step {
		out = append(out, v)
	}
	return out
}

func (p *barPlot) point(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(p.h - y)}
}

func (p *barPlot) box(x0, y0, x1, y1 float64, col color.Color) {
	var q vg.Path
	q.Move(p.point(x0, y0))
	q.Line(p.point(x1, y0))
	q.Line(p.point(x1, y1))
	q.Line(p.point(x0, y1))
	q.Close()
	p.c.SetColor(col)
	p.c.Fill(q)
}

func (p *barPlot) line(x0, y0, x1, y1, width float64, col color.Color) {
	var q vg.Path
	q.Move(p.point(x0, y0))
	q.Line(p.point(x1, y1))
	p.c.SetColor(col)
	p.c.SetLineWidth(vg.Length(width))
	p.c.Stroke(q)
}

func (p *barPlot) style(size float64, bold bool, col color.Color) text.Style {
	t := text.Style{Color: col, Handler: p.hand, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(size)}}
	if bold {
		t.Font.Weight = xfont.WeightBold
	}
	return t
}

func (p *barPlot) width(s string, size float64) float64 {
	t := p.style(size, false, barInk)
	return float64(t.Width(s))
}

// write puts text with its base line at y; align is 0 for left, 0.5 for the middle, 1 for right.
func (p *barPlot) write(s string, x, y, size, align float64, bold bool, col color.Color) {
	t := p.style(size, bold, col)
	t.XAlign = text.XAlignment(-align)
	p.hand.Draw(p.c, s, t, p.point(x, y))
}
