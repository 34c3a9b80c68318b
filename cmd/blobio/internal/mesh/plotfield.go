package mesh

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/amr/boxes"
	"blobio/internal/amr/grids"
	"blobio/internal/chart"
	"blobio/internal/cli"
	"blobio/internal/plot/amrplot"
)

// amrFieldFlags are those of a picture of a field.
type amrFieldFlags struct {
	field     string
	project   string
	log       bool
	between   string
	colors    string
	unit      string
	edges     bool
	dark      bool
	region    string
	particles string
}

// fieldOnly are the flags that go with a field alone.
var fieldOnly = []string{"project", "log", "between", "colors", "value-unit", "edges", "dark", "region", "particles"}

// blocksOnly go with a picture of blocks alone.
var blocksOnly = []string{"by", "ranks", "cut", "order", "no-curve"}

func (f *amrFieldFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	var ramps []string
	for _, r := range chart.Ramps {
		ramps = append(ramps, r.Name)
	}
	fl.StringVar(&f.field, "field", "", "draw this field instead of the blocks")
	cli.ChoiceFlag(cmd, &f.project, "project", "none", "--field: along the axis, the integral, the mean or the greatest value (none: a slice)", "none", string(grids.Integral), string(grids.Mean), string(grids.Max))
	fl.BoolVar(&f.log, "log", false, "--field: logarithmic colours")
	fl.StringVar(&f.between, "between", "", "--field: range of the colours, such as 0.5,2 (default: that of the values)")
	cli.ChoiceFlag(cmd, &f.colors, "colors", "auto", "--field: colours of values", append([]string{"auto"}, ramps...)...)
	fl.StringVar(&f.unit, "value-unit", "", "--field: its unit, for the colour bar (default: code units)")
	fl.BoolVar(&f.edges, "edges", false, "--field: draw the borders of the blocks of all levels")
	fl.BoolVar(&f.dark, "dark", false, "--field: draw on a dark background")
	fl.StringVar(&f.region, "region", "", "--field: draw this part, LO:HI for each axis, such as 0.2:0.4,:0.5,:")
	fl.StringVar(&f.particles, "particles", "", "--field: draw particles of this type as points; of a slice those within half a cell of the coarsest level")
}

// runField draws a field.
func (f *amrPlotFlags) runField(ctx context.Context, e *cli.Env, path string) error {
	m, err := openFields(ctx, e, path, "the picture", f.trust)
	if err != nil {
		return err
	}
	defer m.close()
	list, err := m.fields([]string{f.fields.field})
	if err != nil {
		return err
	}
	if f.Width < 240 || f.Width > 4000 {
		return cli.Usagef("--width %d, want 240 to 4000", f.Width)
	}
	lo, hi, err := m.region(f.fields.region)
	if err != nil {
		return err
	}
	o := &amrplot.FieldOptions{Title: f.Title, Width: f.Width, Ramp: chart.RampOf(f.fields.colors), Log: f.fields.log, Edges: f.fields.edges, Dark: f.fields.dark}
	if o.Min, o.Max, err = cli.Between(f.fields.between); err != nil {
		return err
	}
	if o.Log && (o.Min < 0 || o.Min == 0 && o.Max > 0) {
		return cli.Usagef("--between %s with --log, want numbers above 0", f.fields.between)
	}
	name := cli.Plain(f.fields.field)
	if o.Title == "" {
		o.Title = fmt.Sprintf("%s: %s", filepath.Base(m.path), name)
	}
	unit := codeUnits
	if f.fields.unit != "" {
		unit = f.fields.unit
	}
	o.Label = fmt.Sprintf("%s (%s)", name, unit)
	if m.Rank == 1 {
		return f.lineOf(ctx, e, m, list[0], o, lo, hi)
	}
	axis := 2
	if m.Rank == 3 {
		axis = strings.Index("xyz", f.axis)
	} else if f.hasAt || f.axis != "z" || f.fields.project != "none" {
		return cli.Usagef("a mesh of %s is drawn whole: no --axis, no --at, no --project", cli.Plural(m.Rank, "dimension"))
	}
	across, most := amrplot.FieldWidth(f.Width)
	v := m.NewView(axis, across, most)
	for k, a := range v.Across {
		v.Lo[k], v.Hi[k] = lo[a], hi[a]
		o.Axes[k] = "xyz"[a : a+1]
	}
	v.Fit(across, most)
	if f.hasAt {
		if v.At = f.at; !(v.At >= m.Lower[axis] && v.At <= m.Upper[axis]) {
			return cli.Usagef("--at %g, the domain is from %g to %g", v.At, m.Lower[axis], m.Upper[axis])
		}
	} else if m.Rank == 3 {
		v.At = lo[axis] + (hi[axis]-lo[axis])/2
	}
	var s *grids.Shown
	what := "slice"
	if how := grids.How(f.fields.project); how == "none" {
		s, err = m.Slice(ctx, list[0], v)
	} else {
		what = "projection"
		s, err = m.Project(ctx, list[0], v, how)
		o.Label = map[grids.How]string{grids.Mean: "mean of ", grids.Max: "greatest "}[how] + o.Label
		if how == grids.Integral {
			o.Label = fmt.Sprintf("integral of %s along %s (%s × length)", name, f.axis, unit)
		}
	}
	if err != nil {
		return err
	}
	where := ""
	switch {
	case m.Rank == 3 && what == "slice":
		where = fmt.Sprintf(", %s = %.6g", f.axis, v.At)
	case m.Rank == 3:
		where = fmt.Sprintf(", along %s", f.axis)
	}
	o.Lines = []string{fmt.Sprintf("%d-D, %s, time %.6g%s", m.Rank, cli.Plural(m.Finest()+1, "level"), m.Time, where),
		fmt.Sprintf("%s to %s in the picture", chart.Text(s.Min, 6), chart.Text(s.Max, 6))}
	if math.IsInf(s.Min, 0) {
		o.Lines[1] = "no finite values in the picture"
	}
	if f.fields.particles != "" {
		if o.Points, err = f.points(ctx, m, v, what == "slice"); err != nil {
			return err
		}
		o.Lines[1] += ", " + cli.Plural(len(o.Points), "particle")
	}
	n, err := f.Write(ctx, amrplot.DrawField(s, len(m.Levels), o))
	if err != nil {
		return err
	}
	if f.asJSON {
		d := map[string]any{"path": f.Name, "bytes": n, "field": f.fields.field, "kind": what, "pixels": []int{s.W, s.H}, "boxes": len(s.Boxes), "particles": len(o.Points),
			"min": cli.JSONFloat(finite(s.Min)), "max": cli.JSONFloat(finite(s.Max))}
		if m.Rank == 3 {
			d["axis"] = f.axis
			if what == "slice" {
				d["at"] = v.At
			}
		}
		return e.PrintJSON(d)
	}
	fmt.Fprintf(e.Out, "%s: %s of %s%s, %s\n", f.Name, what, name, where, cli.HumanBytes(n))
	return nil
}

// finite is a number, or NaN.
func finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

// mostPoints bounds the particles of a picture.
const mostPoints = 200000

// points are the places of particles in a view.
func (f *amrPlotFlags) points(ctx context.Context, m *fieldMesh, v *grids.View, slice bool) (out [][2]float64, err error) {
	kind, err := m.kind(f.fields.particles)
	if err != nil {
		return nil, err
	}
	k := &m.Kinds[kind]
	for a, c := range k.Positions {
		if c < 0 {
			return nil, fmt.Errorf("particles %s have no attribute %s, which is their place", k.Name, "xyz"[a:a+1])
		}
	}
	lo, hi := grids.Everywhere()
	for i, a := range v.Across {
		lo[a], hi[a] = v.Lo[i], v.Hi[i]
	}
	if slice && m.Rank == 3 {
		half := m.Levels[0].Width[v.Axis] / 2
		lo[v.Axis], hi[v.Axis] = v.At-half, v.At+half
	}
	err = m.EachParticles(ctx, kind, func(columns [][]float64) error {
		c := k.Within(columns, lo, hi)
		for i := range c[0] {
			out = append(out, [2]float64{c[k.Positions[v.Across[0]]][i], c[k.Positions[v.Across[1]]][i]})
		}
		if len(out) > mostPoints {
			return fmt.Errorf("more than %d particles in the picture: choose a smaller --region", mostPoints)
		}
		return nil
	})
	return out, err
}

// lineOf draws a field of one dimension.
func (f *amrPlotFlags) lineOf(ctx context.Context, e *cli.Env, m *fieldMesh, field int, o *amrplot.FieldOptions, lo, hi [3]float64) error {
	if f.hasAt || f.axis != "z" || f.fields.project != "none" || f.fields.edges || f.fields.particles != "" {
		return cli.Usagef("a mesh of one dimension is drawn as a line: no --axis, --at, --project, --edges or --particles")
	}
	level := m.Finest()
	region := m.Region(level, lo, hi)
	const most = 1 << 22
	if region.Cells() > most {
		return cli.Usagef("%d cells, want at most %d: choose a smaller --region", region.Cells(), most)
	}
	filled, err := m.Fill(ctx, field, level, region)
	if err != nil {
		return err
	}
	line := chart.Line{Color: chart.Series[0], Width: 1.6}
	for i, v := range filled.Values {
		a, b := m.Edges(level, &grids.Box{Box: boxes.Box{Lo: [3]int{region.Lo[0] + i}, Hi: [3]int{region.Lo[0] + i + 1, 1, 1}}})
		line.Points = append(line.Points, [2]float64{a[0], v}, [2]float64{b[0], v})
	}
	fig := &chart.Figure{Title: o.Title, Width: float64(f.Width), Lines: []string{fmt.Sprintf("1-D, %s, time %.6g", cli.Plural(level+1, "level"), m.Time)},
		Panels: []*chart.Plot{&chart.Plot{Title: o.Label, Height: float64(f.Width) * 0.5, X: chart.Axis{Label: "x", Min: lo[0], Max: hi[0]}, Y: chart.Axis{Log: o.Log, Min: o.Min, Max: o.Max},
			Lines: []chart.Line{line}, Empty: "no values"}}}
	n, err := f.Write(ctx, fig)
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"path": f.Name, "bytes": n, "field": f.fields.field, "kind": "line"})
	}
	fmt.Fprintf(e.Out, "%s: line of %s, %s\n", f.Name, cli.Plain(f.fields.field), cli.HumanBytes(n))
	return nil
}
