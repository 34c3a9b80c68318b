package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"blobio/internal/draw/chart"
)

// PictureFlags are the flags of the verbs that draw.
type PictureFlags struct {
	Name  string
	Width int
	Force bool
}

// Add adds the flags of a verb that draws.
func (f *PictureFlags) Add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.Name, "output", "o", "", "output file, .png or .svg")
	fl.IntVar(&f.Width, "width", chart.DefaultWidth, "width in points; a PNG has 2 pixels per point")
	fl.BoolVar(&f.Force, "force", false, "replace an existing output")
	_ = cmd.MarkFlagFilename("output", "png", "svg")
	cmd.PreRunE = func(*cobra.Command, []string) error { return f.check() }
}

// check holds the name of the picture against what can be written.
func (f *PictureFlags) check() error {
	if !chart.Known(f.Name) {
		return Usagef("--output %q, want a name that ends in .png or .svg", f.Name)
	}
	return nil
}

// Write writes the picture in the form that follows from its name, and returns its bytes.
func (f *PictureFlags) Write(ctx context.Context, p chart.Picture) (int64, error) {
	return WriteFile(ctx, f.Name, f.Force, func(w io.Writer) error { return chart.Write(w, f.Name, p) })
}
