package amrplot

import (
	"image/color"

	"blobio/internal/chart"
)

var (
	colorCurve = color.NRGBA{24, 26, 32, 215}
	colorFaint = color.NRGBA{24, 26, 32, 120} // the curve where blocks are small
	colorJump  = color.NRGBA{24, 26, 32, 70}
	colorStart = color.RGBA{22, 130, 62, 255}
	colorEnd   = color.RGBA{190, 24, 44, 255}
)

// few is the number of owners up to which each has an entry in the legend, and
// its colour differs much from that of the next ones. Of more, the hue follows
// the number, so that a picture tells high from low ones.
const few = 32

// levels returns colours of n levels, from pale for the coarsest to dark for the finest.
func levels(n int) []color.RGBA {
	out := make([]color.RGBA, n)
	for i := range out {
		t := 0.5
		if n > 1 {
			t = float64(i) / float64(n-1)
		}
		out[i] = chart.OKLCH(0.94-0.30*t, 0.05+0.08*t, 105+165*t)
	}
	return out
}

// owners returns colours of n owners or files.
func owners(n int) []color.RGBA {
	const goldenAngle = 137.508
	out := make([]color.RGBA, n)
	for i := range out {
		if n <= few {
			out[i] = chart.OKLCH([3]float64{0.78, 0.86, 0.70}[i%3], [3]float64{0.12, 0.095, 0.125}[i%3], 250+goldenAngle*float64(i))
			continue
		}
		t := float64(i) / float64(n-1)
		l := 0.58 + 0.28*t + [4]float64{-0.06, 0.05, -0.02, 0.08}[i%4]
		out[i] = chart.OKLCH(l, [4]float64{0.13, 0.10, 0.15, 0.09}[i%4], 300-260*t+[4]float64{-9, 11, 4, -4}[i%4])
	}
	return out
}
