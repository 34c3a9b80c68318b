package main

import (
	"context"
	"image/color"
	"io"

	"blobio/internal/chart"
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

// sheet is a picture with a title and a line below it.
type sheet struct {
	title, subtitle string
	width, height   float64 // points
	pen             *chart.Pen
}

// page is the picture; f draws all but the titles.
func (s *sheet) page(f func()) *chart.Page {
	return &chart.Page{Width: s.width, Height: s.height, Draw: func(d *chart.Pen) {
		s.pen = d
		d.Write(s.title, 24, 34, s.width-32, chart.Style{Size: 17, Bold: true, Color: chart.Ink})
		d.Write(s.subtitle, 24, 53, s.width-32, chart.Style{Size: 10.5, Color: chart.Soft})
		f()
	}}
}

// key writes what the colours mean, from x on.
func (s *sheet) key(x, y float64, names []string, colors []color.RGBA) {
	for i, n := range names {
		s.pen.Fill(colors[i], chart.Box(x, y-8, 12, 9))
		s.pen.Write(n, x+17, y, 0, chart.Style{Size: 10.5, Color: chart.Ink})
		x += 17 + s.pen.Width(n, chart.Style{Size: 10.5}) + 20
	}
}
