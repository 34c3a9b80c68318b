package globe

import "math"

// A Box holds points: longitudes from West to East, latitudes from South to North, in degrees.
// Of no points it is empty: West > East.
type Box struct{ West, East, South, North float64 }

// Bounds is the box of points as their longitudes are given.
func Bounds(lon, lat []float32) Box {
	b := Box{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for i := range lon {
		b.West, b.East = min(b.West, float64(lon[i])), max(b.East, float64(lon[i]))
		b.South, b.North = min(b.South, float64(lat[i])), max(b.North, float64(lat[i]))
	}
	return b
}

// Region is the box of points, whole turns apart: it begins in the east of the widest gap between longitudes. Points
// around the globe have their Bounds. regional says that they are in a part of it only.
func Region(lon, lat []float32) (b Box, regional bool) {
	b = Bounds(lon, lat)
	var seen [360]bool
	for _, x := range lon {
		seen[int(turn(float64(x)))%360] = true
	}
	gap, end := 0, 0 // degrees without points, and the first behind them
	for i, run := 0, 0; i < 2*len(seen); i++ {
		if seen[i%360] {
			run = 0
			continue
		}
		if run++; run > gap && run < len(seen) {
			gap, end = run, (i+1)%360
		}
	}
	const wide = 150 // degrees; a map of less is not the globe's
	if gap < wide && (b.North-b.South >= 60 || gap < 60) {
		return b, false
	}
	b.West, b.East = math.Inf(1), math.Inf(-1)
	for _, x := range lon {
		v := float64(end) + turn(float64(x)-float64(end))
		b.West, b.East = min(b.West, v), max(b.East, v)
	}
	if b.West >= 180 {
		b.West, b.East = b.West-360, b.East-360
	}
	return b, true
}

// turn is an angle in degrees from 0 to below 360.
func turn(x float64) float64 {
	if x = math.Mod(x, 360); x < 0 {
		x += 360
	}
	if x >= 360 { // a very small negative angle
		return 0
	}
	return x
}
