package mapplot

import "math"

// A view is a projection into the unit square: x to the right, y down.
type view struct {
	wide float64 // width over height
	// inverse returns the position of a point, in radians; ok is false outside of the map.
	inverse func(x, y float64) (lon, lat float64, ok bool)
	// forward is the reverse, for the graticule.
	forward func(lon, lat float64) (x, y float64)
	// center is the longitude in the middle, in radians.
	center float64
	west   float64 // extent, for the graticule, in radians
	east   float64
	south  float64
	north  float64
}

// mollweide returns the view of the whole globe with a meridian in the middle.
func mollweide(center float64) *view {
	return &view{
		wide: 2, center: center, west: center - math.Pi, east: center + math.Pi, south: -math.Pi / 2, north: math.Pi / 2,
		inverse: func(x, y float64) (float64, float64, bool) {
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
		forward: func(lon, lat float64) (float64, float64) {
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
func plate(west, east, south, north float64) *view {
	w, h := east-west, north-south
	return &view{
		wide: w / h, center: (west + east) / 2, west: west, east: east, south: south, north: north,
		inverse: func(x, y float64) (float64, float64, bool) { return west + x*w, north - y*h, true },
		forward: func(lon, lat float64) (float64, float64) { return (lon - west) / w, (north - lat) / h },
	}
}

// newView chooses the view for positions.
func newView(p Projection, lon, lat []float32) *view {
	lo, hi := extent(lon)
	if p == Mollweide {
		center := 0.0
		if lo >= -0.5 && hi > 190 { // longitudes from 0 to 360: oceans are whole with the date line in the middle
			center = math.Pi
		}
		return mollweide(center)
	}
	s, n := extent(lat)
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

func extent(v []float32) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range v {
		lo, hi = min(lo, float64(x)), max(hi, float64(x))
	}
	return lo, hi
}

// draw fills a raster: each pixel has the rank of the nearest element.
func (v *view) draw(r *raster, t *tree, o *owners) {
	guess := 0
	for y := range r.h {
		for x := range r.w {
			lon, lat, ok := v.inverse((float64(x)+0.5)/float64(r.w), (float64(y)+0.5)/float64(r.h))
			if !ok {
				r.pix[y*r.w+x] = pixOutside
				continue
			}
			i, d := t.nearest(onSphere(lon, lat), guess)
			guess = i
			if d > t.near[i] {
				r.pix[y*r.w+x] = pixNone
				continue
			}
			r.pix[y*r.w+x] = o.of(int64(t.id[i]))
		}
	}
}
