package cli

import (
	"context"
	"image/color"
	"io"

	"blobio/internal/chart"
)

// Widths of figures, in points, and their height by it.
const (
	DefaultPictureWidth              = 720
	MinPictureWidth, MaxPictureWidth = 400, 4000
	PictureShape                     = 0.6
)

// CheckPicture holds the name of a picture against what can be written.
func CheckPicture(flag, name string) error {
	if !chart.Known(name) {
		return Usagef("--%s %q, want a name that ends in .png or .svg", flag, name)
	}
	return nil
}

// WritePicture writes a picture in the form that the name tells, and returns its bytes.
func WritePicture(ctx context.Context, name string, force bool, p chart.Picture) (int64, error) {
	return WriteFile(ctx, name, force, func(w io.Writer) error { return chart.Write(w, name, p) })
}

// SeriesColor is the colour of the line with a number.
func SeriesColor(i int) color.RGBA { return chart.Series[i%len(chart.Series)] }
