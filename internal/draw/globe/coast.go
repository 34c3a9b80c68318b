package globe

import (
	_ "embed"
	"encoding/binary"
	"math"
	"sync"

	"blobio/internal/draw/chart"
)

// coastData are the coasts of Natural Earth 4.1.0 at 1:110 million (docs/dependencies.md). Each line has its number of points as
// a uvarint. Each point has the differences of longitude and latitude from the previous point, as varints in 1/50 degree.
//
//go:embed coast.bin
var coastData []byte

// coasts are lines of longitudes and latitudes in radians. A line begins between -180 and 180 degrees and may cross the date
// line.
var coasts = sync.OnceValue(func() (lines [][][2]float64) {
	b, x, y := coastData, int64(0), int64(0)
	next := func() int64 {
		v, n := binary.Varint(b)
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		b = b[k:]
		line := make([][2]float64, n)
		for i := range line {
			x, y = x+next(), y+next()
			if i == 0 {
				x = (x%18000+27000)%18000 - 9000
			}
			line[i] = [2]float64{float64(x) / 50 * degree, float64(y) / 50 * degree}
		}
		lines = append(lines, line)
	}
	return lines
})

// coast returns the visible coasts, in page coordinates.
func (v *View) coast(at func(lon, lat float64) [2]float64) (out [][][2]float64) {
	shown := chart.Rect{X: v.west, Y: v.south, W: v.east - v.west, H: v.north - v.south}
	for _, line := range coasts() {
		for turns := -1.0; turns <= 1; turns++ {
			moved := make([][2]float64, len(line))
			for i, p := range line {
				moved[i] = [2]float64{p[0] + turns*2*math.Pi, p[1]}
			}
			for _, piece := range chart.Cut(moved, shown) {
				for i, p := range piece {
					piece[i] = at(p[0], p[1])
				}
				out = append(out, piece)
			}
		}
	}
	return out
}
