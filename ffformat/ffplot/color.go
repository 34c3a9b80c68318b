package ffplot

import (
	"image/color"

	"blobio/internal/chart"
)

var (
	colorMeta    = color.RGBA{52, 58, 70, 255}
	colorParity  = color.RGBA{128, 143, 166, 255}
	colorOverlap = color.RGBA{190, 24, 44, 255}
	colorLost    = color.RGBA{255, 236, 233, 255}
)

// palette returns n colours of variables. The hue turns by the golden angle, so
// that those which follow each other, as variables do in a file, differ most.
func palette(n int) []color.RGBA {
	const goldenAngle = 137.508
	out := make([]color.RGBA, n)
	for i := range out {
		l := [3]float64{0.70, 0.79, 0.62}[i%3]
		out[i] = chart.OKLCH(l, [3]float64{0.125, 0.11, 0.13}[i%3], 250+goldenAngle*float64(i))
	}
	return out
}
