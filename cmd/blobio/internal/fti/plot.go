package fti

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/plot/ffplot"
)

type ffPlotFlags struct {
	cli.PictureFlags
	asJSON bool
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
	f.Add(cmd, 860, "the name of the file")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *ffPlotFlags) run(cmd *cobra.Command, e *cli.Env, path string) error {
	if _, isDir, err := ffPaths(path); err == nil && isDir {
		return cli.Usagef("plot draws one file, %s is a directory", path)
	}
	file, r, err := openFFReader(path, true)
	if err != nil {
		return err
	}
	defer file.Close()
	if sameFile(f.Name, file.path) {
		return cli.Usagef("--output %s is the checkpoint file itself", f.Name)
	}
	title := f.Title
	if title == "" {
		title = filepath.Base(file.path)
	}
	p, err := ffplot.Draw(r.File(), &ffplot.Options{Title: title, Width: f.Width})
	if err != nil {
		return err
	}
	bytes, err := f.Write(cmd.Context(), p)
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"path": f.Name, "bytes": bytes, "file": file.path})
	}
	fmt.Fprintf(e.Out, "%s: map of %s, %s\n", f.Name, file.path, cli.HumanBytes(bytes))
	return nil
}
