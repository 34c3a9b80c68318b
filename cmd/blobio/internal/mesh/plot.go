package mesh

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"blobio/cmd/blobio/internal/decomps"
	"blobio/internal/cli"
	"blobio/internal/plot/amrplot"
	"blobio/sfc"
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
		Short: "Draw the blocks of a slice and the curve, as PNG or SVG",
		Long: `Draw the leaf blocks of a mesh, coloured by level, by file, or by the rank that would
own them after a restart (--ranks), with the curve through their centres. Of a
three-dimensional mesh, the blocks cut by a plane are drawn; --axis and --at choose it,
by default the middle of z. A thin line joins blocks between which the curve leaves
the plane.

"amr convert --order" puts the blocks along another curve.

To draw a field, write it with "amr extract" and draw that with "blobio plot".

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
	f.Add(cmd, "describes the picture")
	cli.ChoiceFlag(cmd, &f.by, "by", "level", "what the colours show", "level", "file", "owner")
	fl.IntVar(&f.ranks, "ranks", 0, "owner: number of ranks")
	cli.ChoiceFlag(cmd, &f.axis, "axis", "z", "three dimensions: the plane is normal to this axis", "x", "y", "z")
	fl.Float64Var(&f.at, "at", 0, "three dimensions: position of the plane (default: the middle)")
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
		return cli.Usagef("--ranks is for --by owner")
	}
	if err := decomps.CheckRanks(f.ranks); err != nil {
		return err
	}
	m, err := openAmrAs(ctx, path, f.trust)
	if err != nil {
		return err
	}
	defer m.close()
	if err := m.compareHeads(ctx); err != nil {
		return err
	}
	m.warn(e, "the picture", f.trust)
	o := &amrplot.Options{Title: f.Title, Width: f.Width, NoCurve: f.noCurve,
		Color: map[string]amrplot.Color{"level": amrplot.ByLevel, "file": amrplot.ByFile, "owner": amrplot.ByOwner}[f.by]}
	o.Groups = f.groups(m)
	if m.meta.Rank == 3 {
		axis := strings.Index("xyz", f.axis)
		o.Axis = &axis
		if f.hasAt {
			o.Position = &f.at
		}
	} else if f.hasAt || f.axis != "z" {
		return cli.Usagef("a mesh of %s is drawn whole: no --axis, no --at", cli.Plural(m.meta.Rank, "dimension"))
	}
	if o.Title == "" {
		o.Title = fmt.Sprintf("%s: blocks by %s", filepath.Base(m.path), f.by)
	}
	p, err := amrplot.Draw(&m.meta.Geometry, m.indexes(), o)
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
		if o.Axis != nil {
			d["axis"] = f.axis
			d["at"] = f.at
			if !f.hasAt {
				d["at"] = (m.meta.Lower[*o.Axis] + m.meta.Upper[*o.Axis]) / 2
			}
		}
		return e.PrintJSON(d)
	}
	fmt.Fprintf(e.Out, "%s: %d of %s by %s, %s\n", f.Name, drawn, cli.Plural(leaves, "leaf block"), f.by, cli.HumanBytes(n))
	return nil
}

// compareHeads reads what is not data of all blocks, which compares it with its checksums.
func (m *amrMesh) compareHeads(ctx context.Context) error {
	for i := range m.blocks {
		if _, err := m.cello.Head(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// groups are the files of the blocks, or the owners that have as many blocks each.
func (f *amrPlotFlags) groups(m *amrMesh) []int {
	switch f.by {
	case "owner":
		return sfc.Owners(sfc.ByCount(len(m.blocks), f.ranks))
	case "file":
		out := make([]int, len(m.blocks))
		for i := range m.blocks {
			out[i] = m.blocks[i].file
		}
		return out
	}
	return nil
}
