package bench

import (
	"fmt"
	"image/color"
	"math"

	"blobio/internal/chart"
)

// barPlot is a picture of rates: groups of horizontal bars, with a line from the
// rate of the slowest run to that of the fastest, and a mark where the raw ceiling is.
type barPlot struct {
	title, subtitle string
	groups          []barGroup
	ceiling         string // what the mark is; "": there is none
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
	barRaw  = color.RGBA{200, 40, 60, 255}
	barHues = map[string]color.RGBA{
		"variable-centric": {40, 120, 190, 255},
		"process-centric":  {14, 130, 92, 255},
	}
	barOther = color.RGBA{168, 172, 180, 255} // the work of others
)

// page lays the picture out.
func (p *barPlot) page() *chart.Page {
	top, height := 0.0, barTop+barFoot
	for _, g := range p.groups {
		height += barGroupHead + barGroupLn + float64(len(g.bars))*(barHeight+barGap)
		for _, b := range g.bars {
			top = max(top, b.top, b.raw)
		}
	}
	if top <= 0 {
		top = 1
	}
	top *= 1.02
	return &chart.Page{Width: barWidth, Height: height, Draw: func(d *chart.Pen) { p.draw(d, top, height-barFoot) }}
}

// draw draws bars up to top, the axis of which is at bottom.
func (p *barPlot) draw(d *chart.Pen, top, bottom float64) {
	d.Write(p.title, 24, 34, 0, chart.Style{Size: 17, Bold: true, Color: chart.Ink})
	d.Write(p.subtitle, 24, 53, 0, chart.Style{Size: 10.5, Color: chart.Soft})
	key := "line: slowest to fastest run"
	d.Line(chart.Ink, 1.2, 24, 68, 44, 68)
	d.Write(key, 50, 71.5, 0, chart.Style{Size: 10, Color: chart.Soft})
	if p.ceiling != "" {
		x := 70 + d.Width(key, chart.Style{Size: 10})
		d.Line(barRaw, 2.2, x, 62, x, 74)
		d.Write(p.ceiling, x+7, 71.5, 0, chart.Style{Size: 10, Color: chart.Soft})
	}
	x := func(v float64) float64 { return barLeft + v/top*(barWidth-barLeft-barRight) }
	for _, v := range roundTicks(top) {
		d.Line(chart.Grid, 0.6, x(v), barTop, x(v), bottom)
		d.Write(fmt.Sprintf("%g", v), x(v), bottom+13, 0, chart.Style{Size: 10, Color: chart.Soft, Align: 0.5})
	}
	d.Write("MiB/s", barWidth-24, bottom+13, 0, chart.Style{Size: 10, Color: chart.Soft, Align: 1})
	y := barTop
	for _, g := range p.groups {
		y += barGroupHead
		d.Write(g.label, 24, y-6, 0, chart.Style{Size: 11, Bold: true, Color: chart.Ink})
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
			d.Write(b.name, barLeft-8, y+barHeight-3, 0, chart.Style{Size: 10, Color: chart.Ink, Align: 1})
			d.Fill(hue, chart.Between(barLeft, y, x(b.median), y+barHeight))
			mid := y + barHeight/2
			d.Line(chart.Ink, 1.2, x(b.low), mid, x(b.top), mid)
			if b.raw > 0 {
				d.Line(barRaw, 2.2, x(b.raw), y-1, x(b.raw), y+barHeight+1)
			}
			d.Write(fmt.Sprintf("%.0f", b.median), barWidth-24, y+barHeight-3, 0, chart.Style{Size: 10, Color: chart.Soft, Align: 1})
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
