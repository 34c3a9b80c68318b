package globe

import "math"

// box bounds points: longitudes from west to east, latitudes from south to north, in degrees.
type box struct{ west, east, south, north float64 }

// region returns the box of points in a part of the globe, with west from -180 to below 180. The box begins east of the widest
// gap between longitudes. ok is false for points around the globe.
func region(lon, lat []float32) (b box, ok bool) {
	b = box{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, y := range lat {
		b.south, b.north = min(b.south, float64(y)), max(b.north, float64(y))
	}
	var seen [360]bool
	for _, x := range lon {
		seen[int(turn(float64(x)))%360] = true
	}
	gap, end := 0, 0 // widest gap in degrees, and the first longitude after it
	for i, run := 0, 0; i < 2*len(seen); i++ {
		if seen[i%360] {
			run = 0
			continue
		}
		if run++; run > gap && run < len(seen) {
			gap, end = run, (i+1)%360
		}
	}
	const wide = 150 // degrees; a narrower map is not the whole globe
	if gap < wide && (b.north-b.south >= 60 || gap < 60) {
		return b, false
	}
	for _, x := range lon {
		v := float64(end) + turn(float64(x)-float64(end))
		b.west, b.east = min(b.west, v), max(b.east, v)
	}
	if b.west >= 180 {
		b.west, b.east = b.west-360, b.east-360
	}
	return b, b.west < b.east && b.south < b.north
}

// turn returns an angle in degrees from 0 to below 360.
func turn(x float64) float64 {
	if x = math.Mod(x, 360); x < 0 {
		x += 360
	}
	if x >= 360 { // rounding of a tiny negative angle
		return 0
	}
	return x
}
