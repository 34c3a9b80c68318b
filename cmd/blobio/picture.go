package main

import (
	"context"
	"image/color"
	"io"

	"blobio/internal/chart"
)

// Widths of figures, in points, and their height by it.
const (
	defaultPictureWidth              = 720
	minPictureWidth, maxPictureWidth = 400, 4000
	pictureShape                     = 0.6
)

// checkPicture holds the name of a picture against what can be written.
func checkPicture(flag, name string) error {
	if !chart.Known(name) {
		return usagef("--%s %q, want a name that ends in .png or .svg", flag, name)
	}
	return nil
}

// writePicture writes a picture in the form that the name tells, and returns its bytes.
func writePicture(ctx context.Context, name string, force bool, p chart.Picture) (int64, error) {
	return writeFile(ctx, name, force, func(w io.Writer) error { return chart.Write(w, name, p) })
}

// seriesColor is the colour of the line with a number.
func seriesColor(i int) color.RGBA { return chart.Series[i%len(chart.Series)] }
