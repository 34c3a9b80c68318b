package globe

import (
	"math"
	"strconv"

	"blobio/internal/draw/chart"
)

// Room is the space for degrees on each side of a map, in points.
const Room = 12

const degree = math.Pi / 180

// Draw draws coasts, meridians and parallels over the map in an area, with their degrees and the outline. It returns the bottom.
func (v *View) Draw(d *chart.Pen, area chart.Rect) float64 {
	at := v.at(area)
	const pieces = 72
	along := func(lon0, lat0, lon1, lat1 float64) (out [][2]float64) {
		for i := range pieces + 1 {
			t := float64(i) / pieces
			out = append(out, at(lon0+t*(lon1-lon0), lat0+t*(lat1-lat0)))
		}
		return out
	}
	coast := v.coast(at)
	d.Lines(chart.Halo, 1.5, coast...)
	d.Lines(chart.Coast, 0.6, coast...)
	outline := along(v.west, v.south, v.west, v.north)
	outline = append(append(outline, along(v.east, v.north, v.east, v.south)...), outline[0])
	d.Lines(chart.Soft, 1, outline)

	step := v.step(area.W)
	st := chart.Style{Size: 9, Color: chart.Soft, Align: 1}
	for lat := range multiples(v.south, v.north, step) {
		d.Lines(chart.Faint, 0.4, along(v.west, lat*degree, v.east, lat*degree))
		out := 0.0 // distance of the label from the outline, which is oblique near the poles
		if !v.flat {
			out = 8 * math.Pow(lat/90, 2)
		}
		if p := at(v.west, lat*degree); v.flat || math.Abs(lat) < 90 {
			d.Write(degrees(lat, "N", "S"), p[0]-3-out, p[1]+3, 21, st)
		}
	}
	st.Align = 0.5
	for lon := range multiples(v.west, v.east, step) {
		text := meridian(lon)
		d.Lines(chart.Faint, 0.4, along(lon*degree, v.south, lon*degree, v.north))
		switch p := at(lon*degree, max(0, v.south)); {
		case v.flat:
			d.Write(text, p[0], area.Y+area.H+11, 0, st)
		case math.Abs(lon) < 180: // on the equator
			st.Size, st.Color = 8, chart.Ink
			w := d.Width(text, st) + 3
			d.Fill(chart.Veil, chart.Box(p[0]-w/2, p[1]+1.5, w, 9))
			d.Write(text, p[0], p[1]+9, 0, st)
		}
	}
	if v.flat {
		return area.Y + area.H + 13
	}
	return area.Y + area.H
}

// at returns a function from positions to page coordinates of a map in an area.
func (v *View) at(area chart.Rect) func(lon, lat float64) [2]float64 {
	return func(lon, lat float64) [2]float64 {
		x, y := v.Forward(lon, lat)
		return [2]float64{area.X + x*area.W, area.Y + y*area.H}
	}
}

// step returns the distance of lines on a map of this width, in degrees: a round number.
func (v *View) step(wide float64) float64 {
	const apart = 45 // minimum distance, in points
	for _, s := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30} {
		if s*degree/(v.east-v.west)*wide >= apart {
			return s
		}
	}
	return 60
}

// multiples returns the multiples of a step between two angles in radians, in degrees.
func multiples(lo, hi, step float64) func(yield func(float64) bool) {
	const slack = 1e-6
	return func(yield func(float64) bool) {
		for k := math.Ceil(lo/degree/step - slack); k <= hi/degree/step+slack; k++ {
			if !yield(k * step) {
				return
			}
		}
	}
}

// meridian formats a longitude, also beyond 360 degrees.
func meridian(lon float64) string { return degrees(lon-360*math.Ceil((lon-180)/360), "E", "W") }

// degrees formats an angle with its direction, except at 0 and at the date line.
func degrees(x float64, positive, negative string) string {
	x = math.Round(x*1e4) / 1e4
	switch {
	case x < 0 && x > -180:
		return strconv.FormatFloat(-x, 'f', -1, 64) + "°" + negative
	case x > 0 && x < 180:
		return strconv.FormatFloat(x, 'f', -1, 64) + "°" + positive
	}
	return strconv.FormatFloat(math.Abs(x), 'f', -1, 64) + "°"
}
