package versions

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"blobio/internal/chart"
	"blobio/internal/cli"
	"blobio/versioned"
)

type versionsPlotFlags struct {
	cli.PictureFlags
	log, asJSON bool
}

func newVersionsPlot(e *cli.Env) *cobra.Command {
	var f versionsPlotFlags
	cmd := &cobra.Command{
		Use:   "plot ARRAY -o OUT",
		Short: "Draw what each version changed and wrote, as PNG or SVG",
		Long: `Draw for each version of an array the bytes of its changed chunks and of its files, and the
size of the whole state for comparison. The first version of a generation (the array was
opened again, or grew) is written whole.

JSON: {path, bytes, versions}.`,
		Example: `  blobio versions plot store/rho -o rho.png
  blobio versions plot store/rho --log -o rho.svg       # small versions beside whole ones`,
		Args: cli.ExactArgs(1, "the directory of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args[0])
		},
	}
	f.Add(cmd, cli.DefaultPictureWidth, "the name of the array")
	cmd.Flags().BoolVar(&f.log, "log", false, "logarithmic axis of bytes")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *versionsPlotFlags) run(ctx context.Context, e *cli.Env, dir string) error {
	if err := f.CheckWidth(); err != nil {
		return err
	}
	v, err := (&versionsKey{}).one(dir)
	if err != nil {
		return err
	}
	defer v.Close()
	fig, drawn := versionsFigure(v, f.log, float64(f.Width))
	if drawn == 0 {
		return cli.WithHint(fmt.Errorf("array %s has no version but 0, which is empty", v.Spec().Name), "")
	}
	if f.Title != "" {
		fig.Title = f.Title
	}
	n, err := f.Write(ctx, fig)
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"path": f.Name, "bytes": n, "versions": drawn})
	}
	fmt.Fprintf(e.Out, "%s: %s of %s, %s\n", f.Name, cli.Plural(drawn, "version"), v.Spec().Name, cli.HumanBytes(n))
	return nil
}

// versionsFigure draws the bytes of versions, and returns how many there are.
func versionsFigure(v *versioned.View, log bool, width float64) (*chart.Figure, int) {
	state := chart.Line{Name: "whole state", Color: chart.Series[1], Width: 1.6, Steps: true}
	changed := chart.Columns{Name: "changed", Color: chart.Series[2]}
	written := chart.Columns{Name: "written", Color: chart.Series[0]}
	var names []string
	var sum int64
	for _, x := range v.Versions() {
		if x.Number == 0 {
			continue
		}
		n := int64(v.Spec().Type.Size())
		for _, d := range x.Shape {
			n *= d
		}
		state.Points = append(state.Points, [2]float64{float64(len(names)), float64(n)})
		changed.Values, written.Values = append(changed.Values, float64(x.Changed)), append(written.Values, float64(x.Written))
		names = append(names, strconv.FormatInt(x.Number, 10))
		sum += x.Written
	}
	return &chart.Figure{Title: v.Spec().Name + ": bytes of versions", Width: width,
		Lines: []string{fmt.Sprintf("%s, %s written, chunks of %s", cli.Plural(len(names), "version"), cli.HumanBytes(sum), cli.HumanBytes(int64(v.Spec().Chunk)))},
		Panels: []chart.Panel{&chart.Plot{Height: max(math.Round(width*0.5)-95, 200), X: chart.Axis{Label: "version", Names: names},
			Y: chart.Axis{Log: log, Unit: chart.Binary, Suffix: "B"}, Lines: []chart.Line{state}, Columns: []chart.Columns{changed, written}}}}, len(names)
}
