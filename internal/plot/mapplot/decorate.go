package mapplot

import (
	"fmt"
	"image/color"
	"math"

	"blobio/internal/chart"
)

// heading writes what is above the map, and returns where it ends, in whole points.
func (p *Plot) heading(d *chart.Pen) int {
	return int(math.Ceil(d.Heading(margin, margin-10, float64(p.width-2*margin), p.title, p.subtitle))) + 3
}

// decorate draws all but the map, and returns where it ends: heading, frame, graticule, legend.
func (p *Plot) decorate(d *chart.Pen) float64 {
	p.heading(d)
	x0, y0 := float64(p.picture.Min.X), float64(p.picture.Min.Y)
	w, h := float64(p.picture.Dx()), float64(p.picture.Dy())
	if p.view == nil {
		d.Frame(chart.Rule, 0.75, chart.Box(x0, y0, w, h))
	} else {
		p.graticule(d, x0, y0, w, h)
	}
	d.Write(p.note, margin, y0+h+14, w, chart.Style{Size: 9, Color: chart.Soft})
	return p.legend(d, y0+h+26, w)
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

// legend says below y which colour is which rank, and returns where it ends.
func (p *Plot) legend(d *chart.Pen, y, w float64) float64 {
	if p.ranks <= chart.Few {
		l := chart.Legend{Lead: "rank", Even: true}
		for r, c := range p.colors {
			l.Keys = append(l.Keys, chart.Area(fmt.Sprint(r), c))
		}
		y = l.Draw(d, margin, y, w)
	} else {
		s := chart.Strip{Colors: p.colors, Name: func(r int) string {
			if r == 0 {
				return "rank 0"
			}
			return group(int64(r))
		}}
		y = s.Draw(d, margin, y, w)
	}
	l := chart.Legend{Keys: p.keys}
	return l.Draw(d, margin, y, w)
}
