package mesh

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"blobio/cmd/blobio/internal/decomps"
	"blobio/internal/amr/sfc"
	"blobio/internal/cli"
	"blobio/internal/draw/amrplot"
)

type amrPlotFlags struct {
	cli.PictureFlags
	by      string
	ranks   int
	axis    string
	at      float64
	hasAt   bool
	noCurve bool
	asJSON  bool
	trust   amrTrust
}

func newAmrPlot(e *cli.Env) *cobra.Command {
	var f amrPlotFlags
	cmd := &cobra.Command{
		Use:   "plot PATH -o OUT",
		Short: "Draw the blocks of a slice and the curve as PNG or SVG",
		Long: `Draw the leaf blocks of a mesh and the curve through their centres. Colours show the level, the
file, or the rank of each block after a restart (--ranks). For a three-dimensional mesh, plot
draws the blocks that a plane cuts. --axis and --at select the plane; the default is the middle
of z. Where the curve leaves the plane, a thin line joins the blocks before and after.

"amr convert --order" puts the blocks in the order of another curve.

To draw a field, write it with "amr extract" and draw the output with "blobio plot".

JSON: {path, bytes, by, drawn, leaves, axis, at}.`,
		Example: `  blobio amr plot Check-10 -o blocks.png
  blobio amr plot Check-10 --by owner --ranks 16 -o owners.svg
  blobio amr plot Check-05 --axis x --at 0.25 -o slice.png`,
		Args: cli.ExactArgs(1, "a checkpoint directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.hasAt = cmd.Flags().Changed("at")
			return f.run(cmd.Context(), e, args[0])
		},
	}
	fl := cmd.Flags()
	f.Add(cmd)
	cli.ChoiceFlag(cmd, &f.by, "by", "level", "quantity that the colours show", "level", "file", "owner")
	fl.IntVar(&f.ranks, "ranks", 0, "owner: number of ranks")
	cli.ChoiceFlag(cmd, &f.axis, "axis", "z", "3-D: axis normal to the plane", "x", "y", "z")
	fl.Float64Var(&f.at, "at", 0, "3-D: position of the plane (default: the middle)")
	fl.BoolVar(&f.noCurve, "no-curve", false, "omit the curve")
	f.trust.add(cmd)
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *amrPlotFlags) run(ctx context.Context, e *cli.Env, path string) error {
	switch {
	case f.by == "owner" && f.ranks < 1:
		return cli.Usagef("--by owner needs --ranks")
	case f.by != "owner" && f.ranks != 0:
		return cli.Usagef("--ranks needs --by owner")
	}
	if err := decomps.CheckRanks(f.ranks); err != nil {
		return err
	}
	m, err := openAmr(ctx, path, f.trust)
	if err != nil {
		return err
	}
	defer m.Close()
	m.warn(e, "the picture", f.trust)
	o := &amrplot.Options{Title: fmt.Sprintf("%s: blocks by %s", filepath.Base(m.path), f.by), Width: f.Width, NoCurve: f.noCurve,
		By: f.by, Groups: f.groups(m), Axis: strings.Index("xyz", f.axis)}
	if f.hasAt {
		o.Position = &f.at
	}
	if m.Meta().Rank == 3 {
		if !f.hasAt {
			f.at = (m.Meta().Lower[o.Axis] + m.Meta().Upper[o.Axis]) / 2
		}
	} else if f.hasAt || f.axis != "z" {
		return cli.Usagef("--axis and --at do not apply to a mesh of %s", cli.Plural(m.Meta().Rank, "dimension"))
	}
	p, err := amrplot.Draw(&m.Meta().Geometry, m.indexes(), o)
	if err != nil {
		return err
	}
	n, err := f.Write(ctx, p)
	if err != nil {
		return err
	}
	drawn, leaves := p.Blocks()
	if f.asJSON {
		d := map[string]any{"path": f.Name, "bytes": n, "by": f.by, "drawn": drawn, "leaves": leaves}
		if m.Meta().Rank == 3 {
			d["axis"], d["at"] = f.axis, f.at
		}
		return e.PrintJSON(d)
	}
	fmt.Fprintf(e.Out, "%s: %d of %s by %s, %s\n", f.Name, drawn, cli.Plural(leaves, "leaf block"), f.by, cli.HumanBytes(n))
	return nil
}

// groups are the files of the blocks, or the owners that have as many blocks each.
func (f *amrPlotFlags) groups(m *amrMesh) []int {
	switch f.by {
	case "owner":
		return sfc.Owners(sfc.ByCount(len(m.Blocks()), f.ranks))
	case "file":
		out := make([]int, len(m.Blocks()))
		for i := range m.Blocks() {
			out[i] = m.Blocks()[i].File
		}
		return out
	}
	return nil
}
