package ffplot

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"blobio/ffformat"
	"blobio/internal/chart"
)

// draw draws everything and returns the height. A pen without a canvas only measures.
func (p *Plot) draw(d *chart.Pen) float64 {
	w := p.width - 2*margin
	y := d.Heading(margin, margin-10, w, p.title, p.subtitle)
	y = p.drawFile(d, y+20)
	if len(p.shown) > 0 {
		y = p.drawVars(d, y+30)
	}
	return math.Ceil(p.legend(d, y+16) + margin - 8)
}

// heading writes a heading and what is to be known.
func (p *Plot) heading(d *chart.Pen, y float64, head, note string) {
	st := chart.Style{Size: 11, Bold: true, Color: chart.Ink}
	d.Write(head, margin, y, 0, st)
	x := margin + d.Width(head, st) + 8
	d.Write(note, x, y, p.width-margin-x, chart.Style{Size: 9, Color: chart.Soft})
}

func (p *Plot) drawFile(d *chart.Pen, y float64) float64 {
	p.heading(d, y, "The file", fmt.Sprintf("%s in a line; in the bars: variable · container", bytesText(p.page.perLine)))
	y += 8
	for i := range p.page.lines {
		p.drawLine(d, &p.page.lines[i], y)
		y += rowPitch
	}
	return y
}

// drawLine draws a line of the page: above the bar the blocks, and the bar.
func (p *Plot) drawLine(d *chart.Pen, l *line, y float64) {
	left := margin + offsetLead
	top := y + rowPitch - barHeight
	digits := len(strconv.FormatInt(p.page.lines[len(p.page.lines)-1].off, 16))
	d.Write(fmt.Sprintf("0x%0*x", digits, l.off), left-8, top+barHeight/2+3, offsetLead-10, chart.Style{Size: 8.5, Color: chart.Soft, Align: 1})
	d.Fill(chart.Empty, chart.Box(left, top, p.page.width, barHeight))
	for _, r := range l.runs {
		p.drawRun(d, r, left, top)
	}
	for _, r := range l.meta {
		d.Fill(colorMeta, chart.Box(left+r.x0, top, r.x1-r.x0, barHeight))
		s := chart.Style{Size: 7.5, Color: chart.Paper, Align: 0.5}
		if d.Width("metadata", s)+6 < r.x1-r.x0 {
			d.Write("metadata", left+(r.x0+r.x1)/2, top+barHeight/2+2.7, 0, s)
		}
	}
	for _, r := range l.blocks {
		x0, x1 := left+r.x0, left+r.x1
		if !r.cutLeft {
			x0 += 0.8
			d.Line(chart.Soft, 0.7, x0, top-2, x0, top-5)
		}
		if !r.cutRight {
			x1 -= 0.8
			d.Line(chart.Soft, 0.7, x1, top-2, x1, top-5)
		}
		if x1-x0 < 1.5 {
			continue
		}
		s := chart.Style{Size: 7, Color: chart.Soft, Align: 0.5}
		name := fmt.Sprintf("block %d", r.ext.Block)
		if n := d.Width(name, s) + 6; n+6 < x1-x0 {
			mid := (x0 + x1) / 2
			d.Line(chart.Soft, 0.7, x0, top-5, mid-n/2, top-5)
			d.Line(chart.Soft, 0.7, mid+n/2, top-5, x1, top-5)
			d.Write(name, mid, top-3, 0, s)
		} else {
			d.Line(chart.Soft, 0.7, x0, top-5, x1, top-5)
		}
	}
}

func (p *Plot) drawRun(d *chart.Pen, r run, left, top float64) {
	x, w := left+r.x0, r.x1-r.x0
	name := ""
	var ink color.Color = chart.Ink
	switch v := p.byID[r.ext.ID]; r.ext.Kind {
	case ffformat.ExtentContent:
		d.Fill(v.color, chart.Box(x, top, w, barHeight))
		ink, name = chart.InkOn(v.color), fmt.Sprintf("%d · %d", v.id, p.number[at{r.ext.Block, r.ext.Container}])
	case ffformat.ExtentEmpty:
		p.drawEmpty(d, x, top, w, barHeight, v.color)
		if key := (at{r.ext.Block, r.ext.Container}); p.empty[key] {
			name, ink = fmt.Sprintf("%d · %d", v.id, p.number[key]), chart.Mix(v.color, chart.Ink, 0.6)
			if n := d.Width(name, chart.Style{Size: 8}) + 6; n+2 < w {
				d.Fill(chart.Mix(v.color, chart.Paper, 0.84), chart.Box(x+(w-n)/2, top+3, n, barHeight-6))
			}
		}
	case ffformat.ExtentMeta:
		d.Fill(colorMeta, chart.Box(x, top, w, barHeight))
	case ffformat.ExtentGap:
		d.Fill(chart.Dead, chart.Box(x, top, w, barHeight))
	case ffformat.ExtentParity:
		d.Fill(colorParity, chart.Box(x, top, w, barHeight))
		ink, name = chart.Paper, "parity"
	case ffformat.ExtentOverlap:
		d.Fill(colorOverlap, chart.Box(x, top, w, barHeight))
	case ffformat.ExtentLost:
		drawLost(d, x, top, w, barHeight)
	}
	if w < 3 {
		return
	}
	if !r.cutLeft { // a thin line between neighbours
		d.Line(chart.Paper, 0.8, x, top, x, top+barHeight)
	}
	s := chart.Style{Size: 8, Color: ink, Align: 0.5}
	if name != "" && d.Width(name, s)+5 < w {
		d.Write(name, x+w/2, top+barHeight/2+2.9, 0, s)
	}
}

func (p *Plot) drawEmpty(d *chart.Pen, x, y, w, h float64, c color.RGBA) {
	d.Fill(chart.Mix(c, chart.Paper, 0.84), chart.Box(x, y, w, h))
	if w > 1.2 {
		hatch(d, x, y, w, h, chart.Mix(c, chart.Paper, 0.35))
	}
}

// hatch draws diagonals through a rectangle. They are in step over the whole
// picture, so that neighbours match.
func hatch(d *chart.Pen, x, y, w, h float64, c color.Color) {
	const step = 5.0
	first := int((x + y) / step)
	for k := first; float64(k)*step < x+w+y+h; k++ {
		s := float64(k) * step // the diagonal x' + y' = s, from its lower left to its upper right end
		x0, x1 := max(x, s-y-h), min(x+w, s-y)
		if x0 < x1 {
			d.Line(c, 0.55, x0, s-x0, x1, s-x1)
		}
	}
}

// drawVars draws a line for each variable.
func (p *Plot) drawVars(d *chart.Pen, y float64) float64 {
	widest := int64(1)
	for _, v := range p.shown {
		widest = max(widest, v.room)
	}
	note := "containers one after the other; in the bars: block"
	if len(p.vars) > len(p.shown) {
		note = fmt.Sprintf("the largest %d of %d, %s", len(p.shown), len(p.vars), note)
	}
	p.heading(d, y, "The variables", note)
	y += 12
	w := p.width - 2*margin - varLead - varTail
	for _, v := range p.shown {
		p.drawVar(d, v, y, w/float64(widest))
		y += varPitch
	}
	return y
}

// drawVar draws the containers of a variable, step points for each byte.
func (p *Plot) drawVar(d *chart.Pen, v *variable, y, step float64) {
	left := margin + varLead
	mid := y + varBar/2 + 3
	d.Write(fmt.Sprint(v.id), left-8, mid, varLead-12, chart.Style{Size: 9.5, Bold: true, Color: chart.Ink, Align: 1})
	var at int64
	x := left
	for _, t := range v.parts {
		x0, x1 := left+float64(at)*step, left+float64(at+t.room)*step
		full := left + float64(at+t.chunk)*step
		at += t.room
		if x1-x < 0.5 && at < v.room {
			continue // too narrow: the next one draws it, too
		}
		x0 = min(x0, max(x, x0-0.5))
		d.Fill(v.color, chart.Box(x0, y, max(full-x0, 0), varBar))
		if full < x1 {
			p.drawEmpty(d, full, y, x1-full, varBar, v.color)
		}
		if x > left && x1-x > 2 {
			d.Line(chart.Paper, 1.1, x0, y-1, x0, y+varBar+1)
		}
		x = x1
		s := chart.Style{Size: 7.5, Color: chart.InkOn(v.color), Align: 0.5}
		if name := fmt.Sprint(t.block); full-x0 > d.Width(name, s)+4 {
			d.Write(name, (x0+full)/2, y+varBar/2+2.7, 0, s)
		}
	}
	if v.room > 0 {
		d.Frame(chart.Mix(v.color, chart.Ink, 0.35), 0.6, chart.Box(left, y, max(float64(v.room)*step, 0.7), varBar))
	}
	text := bytesText(v.size)
	if v.size < v.room {
		text += " of " + bytesText(v.room)
	}
	text += ", " + plural(len(v.parts), "container")
	d.Write(text, p.width-margin-varTail+12, mid, varTail-12, chart.Style{Size: 9, Color: chart.Ink})
}

// legend tells what the colours are that are not variables.
func (p *Plot) legend(d *chart.Pen, y float64) float64 {
	first := color.RGBA{150, 160, 175, 255}
	if len(p.vars) > 0 {
		first = p.vars[0].color
	}
	fill := func(c color.RGBA) func(*chart.Pen, chart.Rect) {
		return func(d *chart.Pen, r chart.Rect) { d.Fill(c, r) }
	}
	var l chart.Legend
	for _, e := range []struct {
		kind   ffformat.ExtentKind
		text   string
		sample func(*chart.Pen, chart.Rect)
	}{
		{ffformat.ExtentContent, "content", fill(first)},
		{ffformat.ExtentEmpty, "dead: reserved, not in use", func(d *chart.Pen, r chart.Rect) { p.drawEmpty(d, r.X, r.Y, r.W, r.H, first) }},
		{ffformat.ExtentGap, "dead: of no container", fill(chart.Dead)},
		{ffformat.ExtentMeta, "metadata", fill(colorMeta)},
		{ffformat.ExtentParity, "parity", fill(colorParity)},
		{ffformat.ExtentOverlap, "claimed twice", fill(colorOverlap)},
		{ffformat.ExtentLost, "behind the end of the file", func(d *chart.Pen, r chart.Rect) { drawLost(d, r.X, r.Y, r.W, r.H) }},
	} {
		if n := p.usage[e.kind]; n > 0 {
			l.Keys = append(l.Keys, chart.Key{Text: fmt.Sprintf("%s: %s, %s", e.text, bytesText(n), percent(n, p.total)), Sample: func(d *chart.Pen, r chart.Rect) {
				e.sample(d, r)
				d.Frame(chart.Rule, 0.5, r)
			}})
		}
	}
	return l.Draw(d, margin, y, p.width-2*margin)
}

func drawLost(d *chart.Pen, x, y, w, h float64) {
	d.Fill(colorLost, chart.Box(x, y, w, h))
	hatch(d, x, y, w, h, chart.Mix(colorLost, colorOverlap, 0.8))
}
