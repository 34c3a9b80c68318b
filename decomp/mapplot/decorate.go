package mapplot

import (
	"fmt"
	"image/color"
	"math"

	"blobio/internal/chart"
)

// box is an area whose border is drawn from its lower left corner on.
func box(x, y, w, h float64) chart.Rect { return chart.Box(x, y+h, w, -h) }

// decorate draws all but the map: title, frame, graticule, legend.
func (p *Plot) decorate(d *chart.Pen) {
	w := float64(p.width - 2*margin)
	y := float64(margin)
	if p.title != "" {
		y += titleHeight
		d.Write(p.title, margin, y-8, w, chart.Style{Size: 17, Bold: true, Color: chart.Ink})
	}
	y += subtitleHeight
	d.Write(p.subtitle, margin, y-9, w, chart.Style{Size: 10.5, Color: chart.Soft})

	x0, y0 := float64(p.picture.Min.X), float64(p.picture.Min.Y)
	h := float64(p.picture.Dy())
	if p.view == nil {
		d.Frame(chart.Rule, 0.75, box(x0, y0, w, h))
	} else {
		p.graticule(d, x0, y0, w, h)
	}
	y = y0 + h + noteHeight - noteGap
	d.Write(p.note, margin, y, w, chart.Style{Size: 8.5, Color: chart.Soft})
	p.legend(d, y+noteGap)
}

// graticule draws meridians and parallels, and the outline of the globe.
func (p *Plot) graticule(d *chart.Pen, x0, y0, w, h float64) {
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
		d.Lines(faint, 0.4, meridian(k*step))
	}
	for k := math.Ceil(v.south/step + 1e-6); k*step < v.north-1e-6; k++ {
		d.Lines(faint, 0.4, along(func(t float64) [2]float64 { return at(v.west+t*(v.east-v.west), k*step) }))
	}
	outline := meridian(v.west)
	east := meridian(v.east)
	for i := range east {
		outline = append(outline, east[len(east)-1-i])
	}
	d.Lines(chart.Soft, 1, append(outline, outline[0]))
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
func (p *Plot) legend(d *chart.Pen, y float64) {
	w := float64(p.width - 2*margin)
	small := chart.Style{Size: 9, Color: chart.Ink}
	if p.ranks <= few {
		y += 12
		if p.ranks > 0 {
			d.Write("rank", margin, y+9, entryLead-4, chart.Style{Size: 9, Color: chart.Soft})
		}
		for r, c := range p.colors {
			x := margin + entryLead + float64(r%p.perRow())*entryWidth
			top := y + float64(r/p.perRow())*rowHeight
			d.Fill(c, box(x, top, 11, 11))
			d.Frame(border(c), 0.75, box(x, top, 11, 11))
			d.Write(fmt.Sprint(r), x+15, top+9, entryWidth-17, small)
		}
		y += float64((p.ranks + p.perRow() - 1) / p.perRow() * rowHeight)
	} else {
		y += 8
		n := min(p.ranks, int(w))
		for i := range n {
			x := w * float64(i) / float64(n)
			d.Fill(p.colors[i*p.ranks/n], box(margin+x, y, w/float64(n)+0.2, 11))
		}
		d.Frame(chart.Rule, 0.75, box(margin, y, w, 11))
		for k := range 5 {
			r := (p.ranks - 1) * k / 4
			t := small
			t.Align = float64(k) / 4
			name := group(int64(r))
			if k == 0 {
				name = "rank 0"
			}
			d.Write(name, margin+w*t.Align, y+22, 0, t)
		}
		y += stripHeight - 8
	}
	x := float64(margin)
	for _, k := range p.keys {
		if k.color != chart.Paper {
			d.Fill(k.color, box(x, y+5, 11, 11))
			d.Frame(chart.Rule, 0.75, box(x, y+5, 11, 11))
			x += 15
		}
		d.Write(k.text, x, y+14, w-x+margin, small)
		x += d.Width(k.text, small) + 18
	}
}
