package fti

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"blobio/internal/chart"
	"blobio/internal/cli"
	"blobio/internal/plot/ffplot"
)

type ffPlotFlags struct {
	out, title    string
	width         int
	force, asJSON bool
}

func newFFPlot(e *cli.Env) *cobra.Command {
	var f ffPlotFlags
	cmd := &cobra.Command{
		Use:   "plot FILE -o OUT",
		Short: "Draw the map of a checkpoint file, as PNG or SVG",
		Long: `Draw where the variables of a checkpoint file lie. Only metadata are read. Damaged files
are drawn as far as their records can be read.

JSON: {path, bytes, file}.`,
		Example: `  blobio ff plot Ckpt7-Rank0.fti -o map.png
  blobio ff plot store@7/0 -o map.svg --title "checkpoint 7"`,
		Args: cli.ExactArgs(1, "a checkpoint file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "output", "o", "", "name of the picture, .png or .svg")
	fl.IntVar(&f.width, "width", 860, "width in points (a PNG has twice as many pixels)")
	fl.StringVar(&f.title, "title", "", "title (default: the name of the file)")
	fl.BoolVar(&f.force, "force", false, "replace the output if it is there")
	cli.JSONFlag(cmd, &f.asJSON)
	_ = cmd.MarkFlagFilename("output", "png", "svg")
	return cmd
}

func (f *ffPlotFlags) run(cmd *cobra.Command, e *cli.Env, path string) error {
	if !chart.Known(f.out) {
		return cli.CheckPicture("output", f.out)
	}
	if _, isDir, err := ffPaths(path); err == nil && isDir {
		return cli.Usagef("plot draws one file, %s is a directory", path)
	}
	file, r, err := openFFReader(path, true)
	if err != nil {
		return err
	}
	defer file.Close()
	if sameFile(f.out, file.path) {
		return cli.Usagef("--output %s is the checkpoint file itself", f.out)
	}
	title := f.title
	if title == "" {
		title = filepath.Base(file.path)
	}
	p, err := ffplot.Draw(r.File(), &ffplot.Options{Title: title, Width: f.width})
	if err != nil {
		return err
	}
	bytes, err := cli.WritePicture(cmd.Context(), f.out, f.force, p)
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"path": f.out, "bytes": bytes, "file": file.path})
	}
	fmt.Fprintf(e.Out, "%s: map of %s, %s\n", f.out, file.path, cli.HumanBytes(bytes))
	return nil
}
