package globe

import "math"

// A Projection says how longitudes and latitudes are drawn.
type Projection uint8

const (
	// Mollweide shows the whole globe, areas to scale.
	Mollweide Projection = iota
	// Plate is longitude to the right and latitude up, to the same scale.
	Plate
)

// A View is a projection into the unit square: x to the right, y down.
type View struct {
	// Wide is the width over the height.
	Wide float64
	// Inverse returns the position of a point, in radians; ok is false outside of the map.
	Inverse func(x, y float64) (lon, lat float64, ok bool)
	// Forward is the reverse.
	Forward func(lon, lat float64) (x, y float64)
	// extent, for the graticule, in radians
	west, east, south, north float64
}

// NewView chooses the view for points in a box.
func NewView(p Projection, b Box) *View {
	if p == Mollweide {
		center := 0.0
		if b.West >= -0.5 && b.East > 190 { // longitudes from 0 to 360: oceans are whole with the date line in the middle
			center = math.Pi
		}
		return mollweide(center)
	}
	lo, hi, s, n := b.West, b.East, b.South, b.North
	if hi-lo > 300 || s >= n || lo >= hi {
		west := 0.0
		if lo < -0.5 {
			west = -math.Pi
		}
		return plate(west, west+2*math.Pi, -math.Pi/2, math.Pi/2)
	}
	pad := 0.04 * max(hi-lo, n-s)
	rad := math.Pi / 180
	// not narrower than 1:2, nor lower than 1:4
	if more := (n - s + 2*pad) / 2; hi-lo+2*pad < more {
		lo, hi = (lo+hi-more)/2+pad, (lo+hi+more)/2-pad
	}
	if more := (hi - lo + 2*pad) / 4; n-s+2*pad < more {
		s, n = (s+n-more)/2+pad, (s+n+more)/2-pad
	}
	return plate((lo-pad)*rad, (hi+pad)*rad, max(s-pad, -90)*rad, min(n+pad, 90)*rad)
}

// mollweide returns the view of the whole globe with a meridian in the middle.
func mollweide(center float64) *View {
	return &View{
		Wide: 2, west: center - math.Pi, east: center + math.Pi, south: -math.Pi / 2, north: math.Pi / 2,
		Inverse: func(x, y float64) (float64, float64, bool) {
			s := 1 - 2*y // sin of the auxiliary angle
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
				return center, lat, true
			}
			return center + math.Pi*u/c, lat, true
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
			return 0.5 + (lon-center)/(2*math.Pi)*math.Cos(t), (1 - math.Sin(t)) / 2
		},
	}
}

// plate returns a view of a box, or of the whole globe.
func plate(west, east, south, north float64) *View {
	w, h := east-west, north-south
	return &View{
		Wide: w / h, west: west, east: east, south: south, north: north,
		Inverse: func(x, y float64) (float64, float64, bool) { return west + x*w, north - y*h, true },
		Forward: func(lon, lat float64) (float64, float64) { return (lon - west) / w, (north - lat) / h },
	}
}
