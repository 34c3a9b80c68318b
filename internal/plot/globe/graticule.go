package globe

import (
	"math"

	"blobio/internal/chart"
)

// Graticule draws meridians and parallels over the map in an area, and the outline of the globe.
func (v *View) Graticule(d *chart.Pen, area chart.Rect) {
	at := func(lon, lat float64) [2]float64 {
		x, y := v.Forward(lon, lat)
		return [2]float64{area.X + x*area.W, area.Y + y*area.H}
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
		d.Lines(chart.Faint, 0.4, meridian(k*step))
	}
	for k := math.Ceil(v.south/step + 1e-6); k*step < v.north-1e-6; k++ {
		d.Lines(chart.Faint, 0.4, along(func(t float64) [2]float64 { return at(v.west+t*(v.east-v.west), k*step) }))
	}
	outline := meridian(v.west)
	east := meridian(v.east)
	for i := range east {
		outline = append(outline, east[len(east)-1-i])
	}
	d.Lines(chart.Soft, 1, append(outline, outline[0]))
}
