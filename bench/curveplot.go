package bench

import (
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// curvePlot is a picture of costs over the number of ranks: a panel for each cost, both axes logarithmic, with a line
// that grows as the number of ranks does.
type curvePlot struct {
	barPlot // its pen
	t       table
	growth  []Growth
}

// Places, in points from the upper left corner.
const (
	curveWidth             = 860.0
	curveHead              = 112.0
	panelWidth, panelLeft  = 330.0, 76.0
	panelHeight, panelGap  = 190.0, 74.0
	panelRight, panelsWide = 24.0, 2
)

func (p *curvePlot) rows() int { return (len(curveCosts) + panelsWide - 1) / panelsWide }

func (p *curvePlot) layout() { p.h = curveHead + float64(p.rows())*(panelHeight+panelGap) }

// SVG writes the picture as SVG.
func (p *curvePlot) SVG(w io.Writer) error {
	p.layout()
	c := vgsvg.New(curveWidth, vg.Length(p.h))
	p.draw(c)
	_, err := c.WriteTo(w)
	return err
}

// PNG writes the picture as PNG, with two pixels to a point.
func (p *curvePlot) PNG(w io.Writer) error {
	p.layout()
	c := vgimg.NewWith(vgimg.UseWH(curveWidth, vg.Length(p.h)), vgimg.UseDPI(144), vgimg.UseBackgroundColor(barPaper))
	p.draw(c)
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, c.Image())
}

func (p *curvePlot) draw(c vg.Canvas) {
	p.c, p.hand = c, text.Plain{Fonts: font.NewCache(liberation.Collection())}
	p.box(0, 0, curveWidth, p.h, barPaper)
	p.write(p.title, 24, 34, 17, 0, true, barInk)
	p.write(p.subtitle, 24, 53, 10.5, 0, false, barSoft)
	x := 24.0
	for i, who := range p.t.curveWho() {
		p.stroke(x, 70, x+22, 70, curveHue(who), i)
		p.write(who, x+28, 73.5, 10, 0, false, barInk)
		x += 46 + p.width(who, 10)
	}
	p.line(24, 88, 46, 88, 1, barRaw)
	p.write("as the number of ranks; at the end of a line: the exponent from the last size but one to the last", 52, 91.5, 10, 0, false, barSoft)
	for i := range curveCosts {
		left := panelLeft + float64(i%panelsWide)*(panelWidth+panelLeft+panelRight)
		p.panel(i, left, curveHead+22+float64(i/panelsWide)*(panelHeight+panelGap))
	}
}

func curveHue(who string) color.RGBA {
	for name, h := range barHues {
		if strings.HasPrefix(who, name) {
			return h
		}
	}
	return barOther
}

// stroke is a line of a series; the ones with many subfiles are dashed.
func (p *curvePlot) stroke(x0, y0, x1, y1 float64, col color.RGBA, i int) {
	p.c.Push()
	defer p.c.Pop()
	if i >= len(layouts) {
		p.c.SetLineDash([]vg.Length{5, 3}, 0)
	}
	p.line(x0, y0, x1, y1, 2, col)
}

func (p *curvePlot) panel(i int, left, top float64) {
	c := &curveCosts[i]
	least, most, from, to := math.Inf(1), 0.0, math.Inf(1), 0.0
	who := p.t.curveWho()
	for _, w := range who {
		x, y := p.t.series(c.what, w, c.value)
		for k := range x {
			least, most = min(least, y[k]), max(most, y[k])
			from, to = min(from, float64(x[k])), max(to, float64(x[k]))
		}
	}
	p.write(c.name, left-panelLeft+24, top-10, 11, 0, true, barInk)
	if !(most > 0) || from == to {
		p.write("not measured", left, top+20, 10, 0, false, barSoft)
		return
	}
	low, high := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	if low == high {
		high++
	}
	l0, l1 := math.Log10(from)-0.1, math.Log10(to)+0.1
	bottom := top + panelHeight
	px := func(v float64) float64 { return left + (math.Log10(v)-l0)/(l1-l0)*(panelWidth-36) }
	py := func(v float64) float64 { return bottom - (math.Log10(v)-low)/(high-low)*panelHeight }
	right := left + panelWidth - 36
	for e := low; e <= high; e++ {
		v := math.Pow(10, e)
		p.line(left, py(v), right, py(v), 0.6, barGrid)
		p.write(costText(c.name, v), left-5, py(v)+3.5, 9.5, 1, false, barSoft)
	}
	for e := math.Ceil(l0); e <= l1; e++ {
		v := math.Pow(10, e)
		p.line(px(v), top, px(v), bottom, 0.6, barGrid)
		p.write(fmt.Sprintf("%g", v), px(v), bottom+13, 9.5, 0.5, false, barSoft)
	}
	p.write("ranks", right, bottom+27, 9.5, 1, false, barSoft)
	p.line(left, bottom, right, bottom, 0.8, barInk)
	// The line of slope 1 through the greatest value, as far as it is in the panel.
	x0 := to * math.Pow(10, low) / most
	p.line(px(max(from, x0)), py(most*max(from, x0)/to), px(to), py(most), 1, barRaw)
	var taken []float64 // by texts
	for s, w := range who {
		x, y := p.t.series(c.what, w, c.value)
		for k := range x {
			if k > 0 {
				p.stroke(px(float64(x[k-1])), py(y[k-1]), px(float64(x[k])), py(y[k]), curveHue(w), s)
			}
			p.box(px(float64(x[k]))-2, py(y[k])-2, px(float64(x[k]))+2, py(y[k])+2, curveHue(w))
		}
		for _, g := range p.growth {
			if g.What == c.name && g.Who == w {
				at := py(g.End) + 3
				for again := true; again; {
					again = false
					for _, o := range taken {
						if math.Abs(at-o) < 10 {
							at, again = o+10, true
						}
					}
				}
				taken = append(taken, at)
				p.write(fmt.Sprintf("%.2f", g.Last), px(to)+8, at, 9.5, 0, false, curveHue(w))
			}
		}
	}
}

// costText is a power of ten of a cost.
func costText(name string, v float64) string {
	if strings.HasSuffix(name, "bytes") {
		unit := []string{"B", "kB", "MB", "GB", "TB"}
		k := 0
		for ; v >= 1000 && k < len(unit)-1; k++ {
			v /= 1000
		}
		return fmt.Sprintf("%g %s", math.Round(v), unit[k])
	}
	switch {
	case v < 0.9e-3:
		return fmt.Sprintf("%.0f µs", v*1e6)
	case v < 0.9:
		return fmt.Sprintf("%.0f ms", v*1e3)
	}
	return fmt.Sprintf("%.0f s", v)
}
