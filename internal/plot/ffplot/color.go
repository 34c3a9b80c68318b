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

// palette returns n colours of variables. They come again where there are more than can be told apart.
func palette(n int) []color.RGBA {
	few := chart.Colors(min(n, chart.Few), 0.68)
	out := make([]color.RGBA, n)
	for i := range out {
		out[i] = few[i%len(few)]
	}
	return out
}
