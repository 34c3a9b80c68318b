package mesh

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"blobio/internal/amr/grids"
	"blobio/internal/amr/netcdf"
	"blobio/internal/cli"
)

// amrStatsFlags are the flags of ls that read data.
type amrStatsFlags struct {
	on     bool
	fields []string
	levels bool
}

// statsHelp is the help of --stats.
const statsHelp = `--stats shows statistics of fields over the whole domain. Each position counts once, with
the value of the finest level that covers it. Totals and means are weighted by volume. The
width along a missing axis is 1. For each extremum, the block and the centre of the cell
are shown. NaN and infinite values are counted, but excluded from the statistics. Fields on
faces are averaged to cells. --by-level adds a line for each level, for the cells that no
finer level covers.`

func (f *amrStatsFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "stats", false, "show totals, means and extrema of fields, with the positions of extrema")
	varsFlagAs(cmd, &f.fields, "field", "--stats: only these fields, such as density,pressure")
	fl.BoolVar(&f.levels, "by-level", false, "--stats: also show statistics of each level")
}

// check returns an error for flags that require --stats or conflict with it.
func (f *amrStatsFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"field", "by-level", "accept-scrambled"} {
		if !f.on && cmd.Flags().Changed(name) {
			return cli.Usagef("--%s needs --stats", name)
		}
	}
	for _, name := range []string{"blocks", "ranks"} {
		if f.on && cmd.Flags().Changed(name) {
			return cli.Usagef("--%s and --stats cannot be combined", name)
		}
	}
	return nil
}

// The JSON output types for statistics.
type (
	amrFigures struct {
		Level  *int          `json:"level,omitempty"`
		Cells  int64         `json:"cells"`
		Volume cli.JSONFloat `json:"volume"`
		Total  cli.JSONFloat `json:"total"`
		Mean   cli.JSONFloat `json:"mean"`
		Std    cli.JSONFloat `json:"std"`
		Min    cli.JSONFloat `json:"min"`
		Max    cli.JSONFloat `json:"max"`
		MinAt  *amrPlace     `json:"min_at"`
		MaxAt  *amrPlace     `json:"max_at"`
		NaN    int64         `json:"nan"`
		Inf    int64         `json:"inf"`
	}
	amrPlace struct {
		Position []float64 `json:"position"`
		Level    int       `json:"level"`
		Block    string    `json:"block"`
	}
	amrFieldFigures struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Unit string `json:"unit"`
		amrFigures
		Levels []amrFigures `json:"levels"`
	}
	amrMeshFigures struct {
		Path   string            `json:"path"`
		Form   string            `json:"form"`
		Time   cli.JSONFloat     `json:"time"`
		Fields []amrFieldFigures `json:"fields"`
	}
)

func placeOf(m *grids.Mesh, p grids.Place) *amrPlace {
	if p.Box == "" {
		return nil
	}
	return &amrPlace{append([]float64{}, p.At[:m.Rank]...), p.Level, p.Box}
}

func figuresOf(m *grids.Mesh, x *grids.Figures) amrFigures {
	return amrFigures{Cells: x.Cells, Volume: cli.JSONFloat(x.Volume), Total: cli.JSONFloat(x.Total), Mean: cli.JSONFloat(x.Mean), Std: cli.JSONFloat(x.Std),
		Min: cli.JSONFloat(x.Min), Max: cli.JSONFloat(x.Max), MinAt: placeOf(m, x.MinAt), MaxAt: placeOf(m, x.MaxAt), NaN: x.NaN, Inf: x.Inf}
}

func (f *amrStatsFlags) one(ctx context.Context, e *cli.Env, path string, t amrTrust) (*amrMeshFigures, error) {
	m, err := openFields(ctx, e, path, "the statistics", t)
	if err != nil {
		return nil, err
	}
	defer m.close()
	list, err := m.fields(f.fields)
	if err != nil {
		return nil, err
	}
	p := e.NewCount()
	defer p.End()
	stats, err := m.Stats(ctx, list, func(done, total int64) { p.At("stats", done, total) })
	if err != nil {
		return nil, err
	}
	d := &amrMeshFigures{Path: m.path, Form: formCello, Time: cli.JSONFloat(m.Time), Fields: []amrFieldFigures{}}
	for i := range stats {
		s := &stats[i]
		x := amrFieldFigures{Name: s.Name, Type: s.Type, Unit: netcdf.CodeUnits, amrFigures: figuresOf(m.Mesh, &s.Figures), Levels: []amrFigures{}}
		for l := range s.Levels {
			y := figuresOf(m.Mesh, &s.Levels[l])
			y.Level = &l
			x.Levels = append(x.Levels, y)
		}
		d.Fields = append(d.Fields, x)
	}
	return d, nil
}

func (f *amrStatsFlags) print(e *cli.Env, d *amrMeshFigures) {
	fmt.Fprintf(e.Out, "%s: %s, time %.6g\n\n", d.Path, d.Form, float64(d.Time))
	t := e.NewTable("", "FIELD", ">LEVEL", ">CELLS", ">TOTAL", ">MEAN", ">STD", ">MIN", "AT", ">MAX", "AT", ">NAN", ">INF")
	for i := range d.Fields {
		x := &d.Fields[i]
		row := func(name string, level any, y *amrFigures) {
			t.Row(name, level, y.Cells, figure(y.Total), figure(y.Mean), figure(y.Std), figure(y.Min), y.MinAt.text(), figure(y.Max), y.MaxAt.text(), y.NaN, y.Inf)
		}
		row(cli.Plain(x.Name), "all", &x.amrFigures)
		for k := range x.Levels {
			if f.levels && x.Levels[k].Cells > 0 {
				row("", *x.Levels[k].Level, &x.Levels[k])
			}
		}
	}
	t.Flush()
}

// text formats a position in a line.
func (p *amrPlace) text() string {
	if p == nil {
		return "-"
	}
	s := ""
	for i, x := range p.Position {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%.5g", x)
	}
	return fmt.Sprintf("%s (%s)", s, cli.Plain(p.Block))
}
