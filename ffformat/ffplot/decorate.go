package ffplot

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"blobio/ffformat"
)

// draw draws everything and returns the height. A pen without a canvas only measures.
func (p *Plot) draw(d *pen) float64 {
	w := p.width - 2*margin
	y := margin - 6
	if p.title != "" {
		y += 22
		d.write(p.title, margin, y-4, w, style{size: 17, bold: true, color: colorInk})
	}
	y += 18
	d.write(p.subtitle, margin, y-4, w, style{size: 10.5, color: colorSoft})
	y = p.drawFile(d, y+20)
	if len(p.shown) > 0 {
		y = p.drawVars(d, y+30)
	}
	return math.Ceil(p.legend(d, y+16) + margin - 8)
}

// heading writes a heading and what is to be known.
func (p *Plot) heading(d *pen, y float64, head, note string) {
	st := style{size: 11, bold: true, color: colorInk}
	d.write(head, margin, y, 0, st)
	x := margin + d.width(head, st) + 8
	d.write(note, x, y, p.width-margin-x, style{size: 9, color: colorSoft})
}

func (p *Plot) drawFile(d *pen, y float64) float64 {
	p.heading(d, y, "The file", fmt.Sprintf("%s in a line; in the bars: variable · container", bytesText(p.page.perLine)))
	y += 8
	for i := range p.page.lines {
		p.drawLine(d, &p.page.lines[i], y)
		y += rowPitch
	}
	return y
}

// drawLine draws a line of the page: above the bar the blocks, and the bar.
func (p *Plot) drawLine(d *pen, l *line, y float64) {
	left := margin + offsetLead
	top := y + rowPitch - barHeight
	digits := len(strconv.FormatInt(p.page.lines[len(p.page.lines)-1].off, 16))
	d.write(fmt.Sprintf("0x%0*x", digits, l.off), left-8, top+barHeight/2+3, offsetLead-10, style{size: 8.5, color: colorSoft, align: 1})
	d.fill(left, top, p.page.width, barHeight, colorTrack)
	for _, r := range l.runs {
		p.drawRun(d, r, left, top)
	}
	for _, r := range l.meta {
		d.fill(left+r.x0, top, r.x1-r.x0, barHeight, colorMeta)
		s := style{size: 7.5, color: colorPaper, align: 0.5}
		if d.width("metadata", s)+6 < r.x1-r.x0 {
			d.write("metadata", left+(r.x0+r.x1)/2, top+barHeight/2+2.7, 0, s)
		}
	}
	for _, r := range l.blocks {
		x0, x1 := left+r.x0, left+r.x1
		if !r.cutLeft {
			x0 += 0.8
			d.line(x0, top-2, x0, top-5, 0.7, colorSoft)
		}
		if !r.cutRight {
			x1 -= 0.8
			d.line(x1, top-2, x1, top-5, 0.7, colorSoft)
		}
		if x1-x0 < 1.5 {
			continue
		}
		s := style{size: 7, color: colorSoft, align: 0.5}
		name := fmt.Sprintf("block %d", r.ext.Block)
		if n := d.width(name, s) + 6; n+6 < x1-x0 {
			mid := (x0 + x1) / 2
			d.line(x0, top-5, mid-n/2, top-5, 0.7, colorSoft)
			d.line(mid+n/2, top-5, x1, top-5, 0.7, colorSoft)
			d.write(name, mid, top-3, 0, s)
		} else {
			d.line(x0, top-5, x1, top-5, 0.7, colorSoft)
		}
	}
}

func (p *Plot) drawRun(d *pen, r run, left, top float64) {
	x, w := left+r.x0, r.x1-r.x0
	name := ""
	var ink color.Color = colorInk
	switch v := p.byID[r.ext.ID]; r.ext.Kind {
	case ffformat.ExtentContent:
		d.fill(x, top, w, barHeight, v.color)
		ink, name = inkOn(v.color), fmt.Sprintf("%d · %d", v.id, p.number[at{r.ext.Block, r.ext.Container}])
	case ffformat.ExtentEmpty:
		p.drawEmpty(d, x, top, w, barHeight, v.color)
		if key := (at{r.ext.Block, r.ext.Container}); p.empty[key] {
			name, ink = fmt.Sprintf("%d · %d", v.id, p.number[key]), mix(v.color, colorInk, 0.6)
			if n := d.width(name, style{size: 8}) + 6; n+2 < w {
				d.fill(x+(w-n)/2, top+3, n, barHeight-6, mix(v.color, colorPaper, 0.84))
			}
		}
	case ffformat.ExtentMeta:
		d.fill(x, top, w, barHeight, colorMeta)
	case ffformat.ExtentGap:
		d.fill(x, top, w, barHeight, colorGap)
	case ffformat.ExtentParity:
		d.fill(x, top, w, barHeight, colorParity)
		ink, name = colorPaper, "parity"
	case ffformat.ExtentOverlap:
		d.fill(x, top, w, barHeight, colorOverlap)
	case ffformat.ExtentLost:
		d.fill(x, top, w, barHeight, colorLost)
		d.hatch(x, top, w, barHeight, mix(colorLost, colorOverlap, 0.8))
	}
	if w < 3 {
		return
	}
	if !r.cutLeft { // a thin line between neighbours
		d.line(x, top, x, top+barHeight, 0.8, colorPaper)
	}
	s := style{size: 8, color: ink, align: 0.5}
	if name != "" && d.width(name, s)+5 < w {
		d.write(name, x+w/2, top+barHeight/2+2.9, 0, s)
	}
}

func (p *Plot) drawEmpty(d *pen, x, y, w, h float64, c color.RGBA) {
	d.fill(x, y, w, h, mix(c, colorPaper, 0.84))
	if w > 1.2 {
		d.hatch(x, y, w, h, mix(c, colorPaper, 0.35))
	}
}

// drawVars draws a line for each variable.
func (p *Plot) drawVars(d *pen, y float64) float64 {
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
func (p *Plot) drawVar(d *pen, v *variable, y, step float64) {
	left := margin + varLead
	mid := y + varBar/2 + 3
	d.write(fmt.Sprint(v.id), left-8, mid, varLead-12, style{size: 9.5, bold: true, color: colorInk, align: 1})
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
		d.fill(x0, y, max(full-x0, 0), varBar, v.color)
		if full < x1 {
			p.drawEmpty(d, full, y, x1-full, varBar, v.color)
		}
		if x > left && x1-x > 2 {
			d.line(x0, y-1, x0, y+varBar+1, 1.1, colorPaper)
		}
		x = x1
		s := style{size: 7.5, color: inkOn(v.color), align: 0.5}
		if name := fmt.Sprint(t.block); full-x0 > d.width(name, s)+4 {
			d.write(name, (x0+full)/2, y+varBar/2+2.7, 0, s)
		}
	}
	if v.room > 0 {
		d.frame(left, y, max(float64(v.room)*step, 0.7), varBar, 0.6, mix(v.color, colorInk, 0.35))
	}
	text := bytesText(v.size)
	if v.size < v.room {
		text += " of " + bytesText(v.room)
	}
	text += ", " + plural(len(v.parts), "container")
	d.write(text, p.width-margin-varTail+12, mid, varTail-12, style{size: 9, color: colorInk})
}

// legend tells what the colours are that are not variables.
func (p *Plot) legend(d *pen, y float64) float64 {
	type entry struct {
		kind ffformat.ExtentKind
		text string
		draw func(x, y, w, h float64)
	}
	first := color.RGBA{150, 160, 175, 255}
	if len(p.vars) > 0 {
		first = p.vars[0].color
	}
	list := []entry{
		{ffformat.ExtentContent, "content", func(x, y, w, h float64) { d.fill(x, y, w, h, first) }},
		{ffformat.ExtentEmpty, "dead: reserved, not in use", func(x, y, w, h float64) { p.drawEmpty(d, x, y, w, h, first) }},
		{ffformat.ExtentGap, "dead: of no container", func(x, y, w, h float64) { d.fill(x, y, w, h, colorGap) }},
		{ffformat.ExtentMeta, "metadata", func(x, y, w, h float64) { d.fill(x, y, w, h, colorMeta) }},
		{ffformat.ExtentParity, "parity", func(x, y, w, h float64) { d.fill(x, y, w, h, colorParity) }},
		{ffformat.ExtentOverlap, "claimed twice", func(x, y, w, h float64) { d.fill(x, y, w, h, colorOverlap) }},
		{ffformat.ExtentLost, "behind the end of the file", func(x, y, w, h float64) {
			d.fill(x, y, w, h, colorLost)
			d.hatch(x, y, w, h, mix(colorLost, colorOverlap, 0.8))
		}},
	}
	const pitch, box = 18.0, 11.0
	x := margin
	st := style{size: 9, color: colorInk}
	for _, e := range list {
		n := p.usage[e.kind]
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%s: %s, %s", e.text, bytesText(n), percent(n, p.total))
		width := box + 5 + d.width(text, st)
		if x > margin && x+width > p.width-margin {
			x, y = margin, y+pitch
		}
		e.draw(x, y, box, box)
		d.frame(x, y, box, box, 0.5, colorLine)
		d.write(text, x+box+5, y+box-2, p.width-margin-x-box-5, st)
		x += width + 20
	}
	return y + pitch
}
