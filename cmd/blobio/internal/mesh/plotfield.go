package mesh

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/spf13/cobra"

	"blobio/internal/amr/grids"
	"blobio/internal/amr/netcdf"
	"blobio/internal/cli"
	"blobio/internal/draw/amrplot"
	"blobio/internal/draw/chart"
)

// fieldPlotFlags are the flags of a picture of a field.
type fieldPlotFlags struct {
	project, edges  bool
	log, dark       bool
	colors, between string
	scrambled       bool
}

func (f *fieldPlotFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.project, "project", false, "field: draw the integral along --axis instead of a slice")
	fl.BoolVar(&f.edges, "blocks", false, "field: draw the edges of the leaf blocks, too")
	fl.BoolVar(&f.log, "log", false, "field: logarithmic colours")
	fl.BoolVar(&f.dark, "dark", false, "field: draw on a dark background")
	var ramps []string
	for _, r := range chart.Ramps {
		ramps = append(ramps, r.Name)
	}
	cli.ChoiceFlag(cmd, &f.colors, "colors", "auto", "field: colours of values", append([]string{"auto"}, ramps...)...)
	fl.StringVar(&f.between, "between", "", "field: range of the colours, such as 0.1,10 (default: the range of the values)")
	fl.BoolVar(&f.scrambled, "accept-scrambled", false, "field: accept a field whose cells Enzo-E put in the wrong places")
}

// Flags that apply to only one kind of picture.
var (
	ofFields = []string{"project", "blocks", "log", "dark", "colors", "between", "accept-scrambled"}
	ofBlocks = []string{"by", "ranks", "no-curve"}
)

// maxPlane is the maximum number of cells of a picture. The bounds of a damaged checkpoint can give level 0 far more.
const maxPlane = 1 << 28

// fieldLevel returns the coarsest level with cells no larger than a pixel, or else the finest level.
func fieldLevel(m *grids.Mesh, axis, wide, tall int) int {
	u, v := grids.Across(axis)
	l := 0
	for l < m.Finest() && (m.Levels[l].Cells[u] < wide || m.Levels[l].Cells[v] < tall) {
		l++
	}
	return l
}

// shownBy returns the range of the finite values, or NaN if there are none, and the finest level with cells.
func shownBy(f *grids.Filled) (least, most float64, finest int) {
	least, most = math.Inf(1), math.Inf(-1)
	for i, y := range f.Values {
		if y-y == 0 {
			least, most = min(least, y), max(most, y)
		}
		finest = max(finest, int(f.From[i]))
	}
	if least > most {
		least, most = math.NaN(), math.NaN()
	}
	return least, most, finest
}

// plotField draws a field of a checkpoint.
func (f *amrPlotFlags) plotField(ctx context.Context, e *cli.Env, name, path string) error {
	x := &f.field
	lo, hi, err := cli.Between(x.between)
	if err != nil {
		return err
	}
	t := f.trust
	t.scrambled = x.scrambled
	m, err := openFields(ctx, e, path, "the picture", t)
	if err != nil {
		return err
	}
	defer m.close()
	list, err := m.fields([]string{name})
	if err != nil {
		return err
	}
	if m.Rank == 1 {
		return cli.WithHint(cli.Usagef("a mesh of one dimension has no picture"), "blobio amr convert --grids makes a file whose variables blobio plot draws as lines")
	}
	axis, err := f.plane(m.Rank, m.Lower, m.Upper)
	if err != nil {
		return err
	}
	if m.Rank < 3 && x.project {
		return cli.Usagef("--project needs a mesh of 3 dimensions; this mesh has %s", cli.Plural(m.Rank, "dimension"))
	}
	g := &m.of.Meta().Geometry
	width, err := chart.WidthOf(f.Width)
	if err != nil {
		return err
	}
	wide, tall := amrplot.Pixels(g, width, axis)
	level := fieldLevel(m.Mesh, axis, wide, tall)
	across, up := grids.Across(axis)
	if n := m.Levels[level].Cells; int64(n[across])*int64(n[up]) > maxPlane {
		return cli.WithHint(cli.Usagef("a picture of level %d has %d x %d cells, want at most %d", level, n[across], n[up], maxPlane), "blobio amr extract --region writes a part")
	}
	kind, unit, where := "slice", netcdf.CodeUnits, ""
	var filled *grids.Filled
	if x.project {
		kind, unit, where = "projection", netcdf.CodeUnits+" × length", fmt.Sprintf(": integral along %s", f.axis)
		filled, err = m.Project(ctx, list[0], level, axis)
	} else {
		if m.Rank == 3 {
			where = fmt.Sprintf(" at %s = %.6g", f.axis, f.at)
		}
		filled, err = m.Slice(ctx, list[0], level, axis, f.at)
	}
	if err != nil {
		return err
	}
	n := filled.Len()
	v := &amrplot.Values{Wide: n[across], Tall: n[up], V: filled.Values}
	least, most, finest := shownBy(filled)
	o := &amrplot.FieldOptions{Options: amrplot.Options{Title: name + where, Width: f.Width, By: "level", Axis: axis},
		Label: fmt.Sprintf("%s (%s)", name, unit), Units: " (" + netcdf.CodeUnits + ")", Edges: x.edges, Dark: x.dark, Log: x.log, Min: lo, Max: hi}
	if m.Rank == 3 && !x.project {
		o.Position = &f.at
	}
	if x.colors != "auto" {
		o.Colors = x.colors
	}
	o.Lines = []string{fmt.Sprintf("%s · cycle %d, time %.6g · %.6g to %.6g · levels 0 to %d", filepath.Base(m.path), m.of.Meta().Cycle, m.Time, least, most, finest)}
	if finest > level {
		o.Lines = append(o.Lines, fmt.Sprintf("Cells of levels above %d are smaller than a pixel: their means are shown.", level))
	}
	page, err := amrplot.DrawField(g, m.of.indexes(), v, o)
	if err != nil {
		return err
	}
	bytes, err := f.Write(ctx, page)
	if err != nil {
		return err
	}
	if f.asJSON {
		d := map[string]any{"path": f.Name, "bytes": bytes, "field": name, "kind": kind, "min": cli.JSONFloat(least), "max": cli.JSONFloat(most), "finest": finest, "level": level}
		if m.Rank == 3 {
			d["axis"] = f.axis
		}
		if o.Position != nil {
			d["at"] = f.at
		}
		return e.PrintJSON(d)
	}
	fmt.Fprintf(e.Out, "%s: %s%s, %.6g to %.6g, %s\n", f.Name, cli.Plain(name), where, least, most, cli.HumanBytes(bytes))
	return nil
}
