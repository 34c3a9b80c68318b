package amrplot

import (
	"image/color"

	"blobio/internal/draw/chart"
)

var (
	colorCurve = color.NRGBA{24, 26, 32, 215}
	colorFaint = color.NRGBA{24, 26, 32, 120} // the curve where blocks are small
	colorJump  = color.NRGBA{24, 26, 32, 70}
	colorStart = color.RGBA{22, 130, 62, 255}
	colorEnd   = color.RGBA{190, 24, 44, 255}
)

// owners returns the colours of n owners or files, pale enough to show the curve on top. More than chart.Few owners get darker
// shades, too, because the pale shades would be too similar.
func owners(n int) []color.RGBA {
	if n > chart.Few {
		return chart.Colors(n, 0.6)
	}
	return chart.Colors(n, 0.72)
}
