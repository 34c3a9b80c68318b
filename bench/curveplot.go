package bench

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"blobio/internal/chart"
)

// curvePlot is a picture of costs over the number of ranks: a panel for each cost, both axes logarithmic, with a line
// that grows as the number of ranks does.
type curvePlot struct {
	title, subtitle string
	t               table
	growth          []Growth
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

func (p *curvePlot) page() *chart.Page {
	return &chart.Page{Width: curveWidth, Height: curveHead + float64(p.rows())*(panelHeight+panelGap), Draw: p.draw}
}

func (p *curvePlot) draw(d *chart.Pen) {
	d.Write(p.title, 24, 34, 0, chart.Style{Size: 17, Bold: true, Color: chart.Ink})
	d.Write(p.subtitle, 24, 53, 0, chart.Style{Size: 10.5, Color: chart.Soft})
	x := 24.0
	for i, who := range p.t.curveWho() {
		stroke(d, x, 70, x+22, 70, curveHue(who), i)
		d.Write(who, x+28, 73.5, 0, chart.Style{Size: 10, Color: chart.Ink})
		x += 46 + d.Width(who, chart.Style{Size: 10})
	}
	d.Line(barRaw, 1, 24, 88, 46, 88)
	d.Write("as the number of ranks; at the end of a line: the exponent from the last size but one to the last", 52, 91.5, 0, chart.Style{Size: 10, Color: chart.Soft})
	for i := range curveCosts {
		left := panelLeft + float64(i%panelsWide)*(panelWidth+panelLeft+panelRight)
		p.panel(d, i, left, curveHead+22+float64(i/panelsWide)*(panelHeight+panelGap))
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
func stroke(d *chart.Pen, x0, y0, x1, y1 float64, col color.RGBA, i int) {
	line := func() { d.Line(col, 2, x0, y0, x1, y1) }
	if i >= len(layouts) {
		d.Dashed(0, []float64{5, 3}, line)
	} else {
		line()
	}
}

func (p *curvePlot) panel(d *chart.Pen, i int, left, top float64) {
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
	d.Write(c.name, left-panelLeft+24, top-10, 0, chart.Style{Size: 11, Bold: true, Color: chart.Ink})
	if !(most > 0) || from == to {
		d.Write("not measured", left, top+20, 0, chart.Style{Size: 10, Color: chart.Soft})
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
		d.Line(chart.Grid, 0.6, left, py(v), right, py(v))
		d.Write(costText(c.name, v), left-5, py(v)+3.5, 0, chart.Style{Size: 9.5, Color: chart.Soft, Align: 1})
	}
	for e := math.Ceil(l0); e <= l1; e++ {
		v := math.Pow(10, e)
		d.Line(chart.Grid, 0.6, px(v), top, px(v), bottom)
		d.Write(fmt.Sprintf("%g", v), px(v), bottom+13, 0, chart.Style{Size: 9.5, Color: chart.Soft, Align: 0.5})
	}
	d.Write("ranks", right, bottom+27, 0, chart.Style{Size: 9.5, Color: chart.Soft, Align: 1})
	d.Line(chart.Ink, 0.8, left, bottom, right, bottom)
	// The line of slope 1 through the greatest value, as far as it is in the panel.
	x0 := to * math.Pow(10, low) / most
	d.Line(barRaw, 1, px(max(from, x0)), py(most*max(from, x0)/to), px(to), py(most))
	var taken []float64 // by texts
	for s, w := range who {
		x, y := p.t.series(c.what, w, c.value)
		for k := range x {
			if k > 0 {
				stroke(d, px(float64(x[k-1])), py(y[k-1]), px(float64(x[k])), py(y[k]), curveHue(w), s)
			}
			d.Fill(curveHue(w), chart.Between(px(float64(x[k]))-2, py(y[k])-2, px(float64(x[k]))+2, py(y[k])+2))
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
				d.Write(fmt.Sprintf("%.2f", g.Last), px(to)+8, at, 0, chart.Style{Size: 9.5, Color: curveHue(w)})
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
