package mapplot

import (
	"image/color"

	"blobio/internal/draw/chart"
)

var (
	colorUncovered = color.RGBA{196, 199, 203, 255} // elements that no rank owns
	colorNone      = color.RGBA{245, 245, 242, 255} // no elements here
)

func palette(ranks int) []color.RGBA { return chart.Colors(ranks, 0.5) }

// border returns the colour of a border between areas.
func border(c color.RGBA) color.RGBA { return chart.Darker(c, 0.62) }
