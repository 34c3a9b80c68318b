package cli

import (
	"context"
	"errors"
	"image/color"
	"io"

	"github.com/spf13/cobra"

	"blobio/internal/chart"
)

// Widths of figures, in points, and their height by it.
const (
	DefaultPictureWidth              = 720
	minPictureWidth, maxPictureWidth = 400, 4000
	PictureShape                     = 0.6
)

// PictureFlags are the flags of the verbs that draw.
type PictureFlags struct {
	Name, Title string
	Width       int
	Force       bool
}

// Add adds the flags of a verb that draws; title says what the default is.
func (f *PictureFlags) Add(cmd *cobra.Command, width int, title string) {
	f.add(cmd, "", "name of the picture, .png or .svg", "output", width)
	cmd.Flags().StringVar(&f.Title, "title", "", "title (default: "+title+")")
	cmd.PreRunE = func(*cobra.Command, []string) error { return f.check() }
}

// AddOptional adds those of a verb that draws a chart if it is asked to. others are flags that go with --output, too.
func (f *PictureFlags) AddOptional(cmd *cobra.Command, draw, title string, others ...string) {
	f.add(cmd, "--output: ", "draw "+draw+" into this file, .png or .svg", "picture", DefaultPictureWidth)
	cmd.Flags().StringVar(&f.Title, "title", title, "--output: title")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		given := cmd.Flags().Changed
		if given("output") {
			return errors.Join(f.check(), f.CheckWidth())
		}
		for _, name := range append([]string{"width", "title", "force"}, others...) {
			if given(name) {
				return Usagef("--%s goes with --output", name)
			}
		}
		return nil
	}
}

func (f *PictureFlags) add(cmd *cobra.Command, only, output, what string, width int) {
	fl := cmd.Flags()
	fl.StringVarP(&f.Name, "output", "o", "", output)
	fl.IntVar(&f.Width, "width", width, only+"width in points (a PNG has twice as many pixels)")
	fl.BoolVar(&f.Force, "force", false, only+"replace the "+what+" if it is there")
	_ = cmd.MarkFlagFilename("output", "png", "svg")
}

// check holds the name of the picture against what can be written.
func (f *PictureFlags) check() error {
	if !chart.Known(f.Name) {
		return Usagef("--output %q, want a name that ends in .png or .svg", f.Name)
	}
	return nil
}

// CheckWidth holds the width against that of charts.
func (f *PictureFlags) CheckWidth() error {
	if f.Width < minPictureWidth || f.Width > maxPictureWidth {
		return Usagef("--width %d, want %d to %d", f.Width, minPictureWidth, maxPictureWidth)
	}
	return nil
}

// Write writes the picture in the form that its name tells, and returns its bytes.
func (f *PictureFlags) Write(ctx context.Context, p chart.Picture) (int64, error) {
	return WriteFile(ctx, f.Name, f.Force, func(w io.Writer) error { return chart.Write(w, f.Name, p) })
}

// SeriesColor is the colour of the line with a number.
func SeriesColor(i int) color.RGBA { return chart.Series[i%len(chart.Series)] }
