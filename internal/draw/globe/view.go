package globe

import "math"

// A View is a projection into the unit square: x to the right, y down.
type View struct {
	// Wide is the width divided by the height.
	Wide float64
	// Inverse returns the position at a point, in radians; ok is false outside the map.
	Inverse func(x, y float64) (lon, lat float64, ok bool)
	// Forward is the reverse.
	Forward func(lon, lat float64) (x, y float64)
	// extent, in radians
	west, east, south, north float64
	flat                     bool // longitude is horizontal and latitude vertical
}

// NewView chooses the view for points in degrees. The whole globe is drawn in an equal-area projection or, if plate, with
// longitude and latitude at right angles. Greenwich is in the middle in both cases. A part of the globe is always drawn at right
// angles.
func NewView(lon, lat []float32, plate bool) *View {
	b, ok := region(lon, lat)
	switch {
	case !ok && plate:
		return flat(-math.Pi, math.Pi, -math.Pi/2, math.Pi/2)
	case !ok:
		return mollweide()
	}
	pad := 0.04 * max(b.east-b.west, b.north-b.south)
	rad := math.Pi / 180
	// widen a box that is narrower than 1:2, and heighten a box that is lower than 1:4
	if more := (b.north - b.south + 2*pad) / 2; b.east-b.west+2*pad < more {
		b.west, b.east = (b.west+b.east-more)/2+pad, (b.west+b.east+more)/2-pad
	}
	if more := (b.east - b.west + 2*pad) / 4; b.north-b.south+2*pad < more {
		b.south, b.north = (b.south+b.north-more)/2+pad, (b.south+b.north+more)/2-pad
	}
	return flat((b.west-pad)*rad, (b.east+pad)*rad, max(b.south-pad, -90)*rad, min(b.north+pad, 90)*rad)
}

// mollweide returns an equal-area view of the whole globe.
func mollweide() *View {
	return &View{
		Wide: 2, west: -math.Pi, east: math.Pi, south: -math.Pi / 2, north: math.Pi / 2,
		Inverse: func(x, y float64) (float64, float64, bool) {
			s := 1 - 2*y // sine of the auxiliary angle
			if s < -1 || s > 1 {
				return 0, 0, false
			}
			t := math.Asin(s)
			c := math.Cos(t)
			u := 2*x - 1
			if math.Abs(u) > c {
				return 0, 0, false
			}
			lat := math.Asin((2*t + math.Sin(2*t)) / math.Pi)
			if c == 0 {
				return 0, lat, true
			}
			return math.Pi * u / c, lat, true
		},
		Forward: func(lon, lat float64) (float64, float64) {
			t := lat
			for range 30 { // Newton's method for 2t + sin 2t = pi sin lat
				d := 2 + 2*math.Cos(2*t)
				if d < 1e-9 {
					break
				}
				e := (2*t + math.Sin(2*t) - math.Pi*math.Sin(lat)) / d
				t -= e
				if math.Abs(e) < 1e-9 {
					break
				}
			}
			return 0.5 + lon/(2*math.Pi)*math.Cos(t), (1 - math.Sin(t)) / 2
		},
	}
}

// flat returns a view of a box, with the same scale in both directions.
func flat(west, east, south, north float64) *View {
	w, h := east-west, north-south
	return &View{
		Wide: w / h, west: west, east: east, south: south, north: north, flat: true,
		Inverse: func(x, y float64) (float64, float64, bool) { return west + x*w, north - y*h, true },
		Forward: func(lon, lat float64) (float64, float64) { return (lon - west) / w, (north - lat) / h },
	}
}
