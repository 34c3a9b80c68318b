package amrplot

import (
	"fmt"
	"image/color"

	"blobio/internal/chart"
)

// drawAxes labels the corners of the domain, below and at the left. y is the lower edge.
func (p *Plot) drawAxes(d *chart.Pen, y float64) float64 {
	st := chart.Style{Size: 8.5, Color: chart.Soft}
	g := p.geometry
	a := p.plane.axes[0]
	for k, v := range []float64{g.Lower[a], (g.Lower[a] + g.Upper[a]) / 2, g.Upper[a]} {
		st.Align = float64(k) / 2
		x := p.area.X + st.Align*p.area.W
		d.Line(chart.Soft, 0.7, x, y, x, y+3)
		name := fmt.Sprintf("%.4g", v)
		if k == 1 {
			name = fmt.Sprintf("%c = %s", 'x'+rune(a), name)
		}
		d.Write(name, x, y+12, 0, st)
	}
	st.Align = 1
	if a = p.plane.axes[1]; a < 0 {
		n := p.plane.hi - p.plane.lo + 1
		for l := range n {
			d.Write("level "+number(p.plane.lo+l), p.area.X-4, p.area.Y+p.area.H*(1-(float64(l)+0.5)/float64(n))+3, axisLead+margin-8, st)
		}
		return y + 14
	}
	for k, v := range []float64{g.Upper[a], (g.Lower[a] + g.Upper[a]) / 2, g.Lower[a]} {
		at := p.area.Y + float64(k)/2*p.area.H
		d.Line(chart.Soft, 0.7, p.area.X-3, at, p.area.X, at)
		name := fmt.Sprintf("%.4g", v)
		if k == 1 {
			name = fmt.Sprintf("%c = %s", 'x'+rune(a), name)
		}
		d.Write(name, p.area.X-5, at+[3]float64{6, 3, 0}[k], axisLead+margin-10, st)
	}
	return y + 14
}

// legend says what the colours mean, and returns where it ends.
func (p *Plot) legend(d *chart.Pen, y float64) float64 {
	const pitch, box = 17.0, 11.0
	st := chart.Style{Size: 9, Color: chart.Ink}
	left, right := margin, p.width-margin
	x := left
	entry := func(text string, swatch func(x, y float64)) {
		w := box + 5 + d.Width(text, st)
		if x > left && x+w > right {
			x, y = left, y+pitch
		}
		swatch(x, y)
		d.Write(text, x+box+5, y+box-2, right-x-box-5, st)
		x += w + 16
	}
	swatch := func(c color.RGBA) func(x, y float64) {
		return func(x, y float64) {
			d.Fill(c, chart.Box(x, y, box, box))
			d.Frame(chart.Darker(c, 0.72), 0.7, chart.Box(x, y, box, box))
		}
	}
	switch {
	case p.groups <= few:
		for g, n := range p.counts {
			name := fmt.Sprintf("%v %d", p.kind, g)
			if p.kind == ByLevel {
				if n == 0 {
					continue // refined everywhere, or not in the plane
				}
				name = "level " + number(p.plane.lo+g)
			}
			entry(fmt.Sprintf("%s: %s", name, plural(n, "block")), swatch(p.colors[g]))
		}
		if p.none > 0 {
			entry(fmt.Sprintf("no %v: %s", p.kind, plural(p.none, "block")), swatch(chart.Dead))
		}
		y += pitch
	default:
		w := right - left
		n := min(p.groups, int(w))
		for i := range n {
			d.Fill(p.colors[i*p.groups/n], chart.Box(left+w*float64(i)/float64(n), y, w/float64(n)+0.2, box))
		}
		d.Frame(chart.Rule, 0.7, chart.Box(left, y, w, box))
		for k := range 5 {
			t := st
			t.Align = float64(k) / 4
			name := fmt.Sprint((p.groups - 1) * k / 4)
			if k == 0 {
				name = fmt.Sprintf("%v 0", p.kind)
			}
			d.Write(name, left+w*t.Align, y+box+11, 0, t)
		}
		y += 2*pitch - 4
	}
	if p.curve && len(p.plane.cells) > 0 {
		x = left
		entry("first block", func(x, y float64) { dot(d, x+box/2, y+box/2, 4, colorStart) })
		entry("last", func(x, y float64) { dot(d, x+box/2, y+box/2, 4, colorEnd) })
		entry("order of the blocks", func(x, y float64) { d.Line(colorCurve, 1.5, x, y+box/2, x+box, y+box/2) })
		if p.plane.normal >= 0 {
			entry("by blocks outside of the plane", func(x, y float64) { d.Line(colorJump, 1, x, y+box/2, x+box, y+box/2) })
		}
		y += pitch
	}
	return y
}
