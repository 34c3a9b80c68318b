package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"blobio/internal/draw/chart"
)

// PictureFlags are the flags of the plot verbs.
type PictureFlags struct {
	Name  string
	Width int
	Force bool
}

// Add adds the flags to a plot verb.
func (f *PictureFlags) Add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.Name, "output", "o", "", "output file, .png or .svg")
	fl.IntVar(&f.Width, "width", chart.DefaultWidth, "width in points; a PNG has 2 pixels per point")
	fl.BoolVar(&f.Force, "force", false, "replace an existing output")
	_ = cmd.MarkFlagFilename("output", "png", "svg")
	cmd.PreRunE = func(*cobra.Command, []string) error { return f.check() }
}

// check checks that the picture's name has a supported format.
func (f *PictureFlags) check() error {
	if !chart.Known(f.Name) {
		return Usagef("--output %q, want a name that ends in .png or .svg", f.Name)
	}
	return nil
}

// Write writes the picture in the format given by its name, and returns the number of bytes.
func (f *PictureFlags) Write(ctx context.Context, p chart.Picture) (int64, error) {
	return WriteFile(ctx, f.Name, f.Force, func(w io.Writer) error { return chart.Write(w, f.Name, p) })
}
