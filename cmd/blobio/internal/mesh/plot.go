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
	field   fieldPlotFlags
	trust   amrTrust
}

func newAmrPlot(e *cli.Env) *cobra.Command {
	var f amrPlotFlags
	cmd := &cobra.Command{
		Use:   "plot [FIELD] PATH -o OUT",
		Short: "Draw a field, or the blocks and the curve, as PNG or SVG",
		Long: `Draw a field in a plane. Each point has the value of the finest level that covers it. For a
three-dimensional mesh, --axis and --at select a slice; the default is the middle of z.
--project draws the integral along the axis instead. --blocks draws the edges of the leaf
blocks. If cells are smaller than a pixel, the picture shows their means.

Without FIELD, draw the leaf blocks of a mesh and the curve through their centres. Colours show
the level, the file, or the rank of each block after a restart (--ranks). For a
three-dimensional mesh, plot draws the blocks that a plane cuts. Where the curve leaves the
plane, a thin line joins the blocks before and after.

"amr convert --order" puts the blocks in the order of another curve.

JSON: {path, bytes, by, drawn, leaves, axis, at}. For a field: {path, bytes, field, kind, min,
max, finest, level, axis, at}, where finest is the finest level shown, and level is the level
of the cells of the picture.`,
		Example: `  blobio plot density Check-10 -o rho.png
  blobio amr plot density Check-05 --axis x --at 0.25 --blocks --log -o slice.png
  blobio amr plot density Check-05 --project -o column.png
  blobio amr plot Check-10 -o blocks.png
  blobio amr plot Check-10 --by owner --ranks 16 -o owners.svg
  blobio amr plot Check-05 --axis x --at 0.25 -o blocks.png`,
		Args: cobra.MatchAll(cli.MinArgs(1, "a checkpoint directory"), cli.MaxArgs(2, "a field and a checkpoint directory")),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.hasAt = cmd.Flags().Changed("at")
			others, of := ofFields, "a picture of blocks"
			if len(args) == 2 {
				others, of = ofBlocks, "a picture of a field"
			}
			for _, name := range others {
				if cmd.Flags().Changed(name) {
					return cli.Usagef("--%s cannot be used for %s", name, of)
				}
			}
			if len(args) == 2 {
				return f.plotField(cmd.Context(), e, args[0], args[1])
			}
			return f.run(cmd.Context(), e, args[0])
		},
	}
	fl := cmd.Flags()
	f.Add(cmd)
	cli.ChoiceFlag(cmd, &f.by, "by", "level", "quantity that the colours show", "level", "file", "owner")
	fl.IntVar(&f.ranks, "ranks", 0, "--by owner: number of ranks")
	cli.ChoiceFlag(cmd, &f.axis, "axis", "z", "3-D: axis normal to the plane", "x", "y", "z")
	fl.Float64Var(&f.at, "at", 0, "3-D: position of the plane (default: the middle)")
	fl.BoolVar(&f.noCurve, "no-curve", false, "omit the curve")
	f.field.add(cmd)
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
		By: f.by, Groups: f.groups(m)}
	if o.Axis, err = f.plane(m.Meta().Rank, m.Meta().Lower, m.Meta().Upper); err != nil {
		return err
	}
	if m.Meta().Rank == 3 {
		o.Position = &f.at
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

// plane returns the axis normal to the plane, and chooses the plane's position if none was given.
func (f *amrPlotFlags) plane(rank int, lower, upper [3]float64) (axis int, err error) {
	axis = strings.Index("xyz", f.axis)
	switch {
	case rank < 3 && (f.hasAt || f.axis != "z"):
		return 0, cli.Usagef("--axis and --at need a mesh of 3 dimensions; this mesh has %s", cli.Plural(rank, "dimension"))
	case rank == 3 && f.hasAt && f.field.project:
		return 0, cli.Usagef("--at and --project cannot be combined")
	case rank == 3 && !f.hasAt:
		f.at = (lower[axis] + upper[axis]) / 2
	}
	return axis, nil
}

// groups returns the file of each block, or owners with equal numbers of blocks.
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
