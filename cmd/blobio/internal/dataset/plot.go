package dataset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"blobio/internal/cdf5/slab"
	"blobio/internal/cli"
	"blobio/internal/draw/chart"
	"blobio/internal/draw/fieldplot"
)

type plotFlags struct {
	cli.PictureFlags
	source       sourceFlags
	dims         []string
	record       string
	level        string
	kind, colors string
	between      string
	o            fieldplot.Options
	coords       string
	asJSON       bool
}

// NewPlot makes the verb that draws a variable. The plot verbs of other families draw other files, which Long lists.
func NewPlot(e *cli.Env) *cobra.Command {
	var f plotFlags
	cmd := &cobra.Command{
		Use:   "plot [VARIABLE] PATH -o OUT",
		Short: "Draw a variable, a map or the blocks of a checkpoint as PNG or SVG",
		Long: `Draw a variable of a dataset. If the dataset has latitudes and longitudes of axes, columns
or mesh cells, the picture is a world map of one record and level. Otherwise the picture is
a section of two dimensions or a line along one dimension. If no coordinates are known, the
picture is a histogram. --kind selects another kind. Only the elements shown are read.

Without VARIABLE, the kind of file determines the picture and the flags:

  a map file, a dataset of blobs     the owner of each element  blobio decomp plot
  a checkpoint of Cello              the blocks and the curve   blobio amr plot

If PATH is a checkpoint of Cello, VARIABLE is a field; see "blobio amr plot --help" for its flags.

JSON: {path, bytes, variable, kind, title, notes}.`,
		Example: `  blobio plot T F_h0.nc --level 850. -o t850.png     # the level nearest to 850 hPa
  blobio plot U F_h1.nc --level 40 --records 3 -o u.svg
  blobio plot TSOI I_h0.nc --kind section -d lon,30. -o section.png
  blobio plot PRECT F_h1.nc --log --colors white-blue -o rain.png
  blobio plot temperature G.nc --coords mesh.nc -o sst.png
  blobio plot density Check-10 --blocks -o rho.png   # a checkpoint of Enzo-E
  blobio plot map_f_case_16p.nc -o d1.png            # the owner of each element`,
		Args: cobra.MatchAll(cli.MinArgs(1, "a path"), cli.MaxArgs(2, "a variable and a dataset")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return cli.Usagef("the name of a variable of %s is missing", args[0])
			}
			return f.run(cmd.Context(), e, args[0], args[1])
		},
	}
	fl := cmd.Flags()
	f.Add(cmd)
	fl.StringArrayVarP(&f.dims, "dim", "d", nil, "draw one `ELEMENT` of a dimension: NAME,INDEX, or NAME,VALUE with a decimal point (repeatable)")
	recordsFlag(cmd, &f.record, "record to draw, one number (default: the first)")
	fl.StringVar(&f.level, "level", "", "level to draw: an index, or a value of its coordinate with a decimal point, such as 850. (default: the first)")
	var kinds, ramps []string
	for _, k := range fieldplot.Kinds {
		kinds = append(kinds, string(k))
	}
	for _, r := range chart.Ramps {
		ramps = append(ramps, r.Name)
	}
	cli.ChoiceFlag(cmd, &f.kind, "kind", "auto", "kind of picture", append([]string{"auto"}, kinds...)...)
	cli.ChoiceFlag(cmd, &f.colors, "colors", "auto", "colour scale", append([]string{"auto"}, ramps...)...)
	fl.StringVar(&f.between, "between", "", "range of the colours or of the value axis, such as 250,300 (default: the range of the data)")
	fl.BoolVar(&f.o.Log, "log", false, "logarithmic colours or value axis")
	fl.StringVar(&f.o.X, "x", "", "horizontal dimension of a section or line")
	fl.StringVar(&f.o.Y, "y", "", "vertical dimension of a section")
	fl.BoolVar(&f.o.Plate, "plate", false, "draw plain longitude and latitude axes instead of the equal-area projection")
	fl.BoolVar(&f.o.Dark, "dark", false, "draw on a dark background")
	fl.StringVar(&f.coords, "coords", "", "`DATASET` with the latitudes and longitudes, such as a mesh file; \"generated\": computed for an E3SM grid of this size (default: the dataset itself)")
	f.source.add(cmd)
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *plotFlags) run(ctx context.Context, e *cli.Env, name, path string) error {
	r, err := f.source.open(ctx, e, path)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := checkVars(r, []string{name}); err != nil {
		return err
	}
	data := &fieldplot.Data{Reader: r, ID: path}
	o := f.o
	o.Var, o.Width = name, f.Width
	if f.kind != "auto" {
		o.Kind = fieldplot.Kind(f.kind)
	}
	if f.colors != "auto" {
		o.Colors = f.colors
	}
	if o.Generated = f.coords == "generated"; f.coords != "" && !o.Generated {
		m, err := f.source.open(ctx, e, f.coords)
		if err != nil {
			return err
		}
		defer m.Close()
		o.Coords = &fieldplot.Data{Reader: m, ID: f.coords}
	}
	if o.Min, o.Max, err = cli.Between(f.between); err != nil {
		return err
	}
	args, err := f.selections(data, name)
	if err != nil {
		return err
	}
	if o.At, err = fieldplot.Select(ctx, data, name, args); err != nil {
		return err
	}
	if err := standable(ctx, data, &o); err != nil {
		return err
	}
	pic, err := fieldplot.NewAtlas(0).Draw(ctx, data, &o)
	if err != nil {
		return err
	}
	n, err := f.Write(ctx, pic)
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"path": f.Name, "bytes": n, "variable": name, "kind": pic.Kind, "title": pic.Title, "notes": append([]string{}, pic.Notes...)})
	}
	fmt.Fprintf(e.Out, "%s: %s of %s, %s\n", f.Name, pic.Kind, cli.Plain(name), cli.HumanBytes(n))
	for _, s := range pic.Notes {
		fmt.Fprintln(e.Out, cli.Plain(s))
	}
	return nil
}

// standable returns an error if a flag selects one element of a dimension along which the picture extends, because the flag would
// have no effect.
func standable(ctx context.Context, data *fieldplot.Data, o *fieldplot.Options) error {
	s, err := fieldplot.See(ctx, data, o)
	if err != nil {
		return err
	}
	for _, dim := range slices.Sorted(maps.Keys(o.At)) {
		if slices.Contains(s.Long, dim) && !slices.ContainsFunc(s.Fixed, func(c fieldplot.Choice) bool { return c.Dim == dim }) {
			return cli.Usagef("the %s of %s shows all of dimension %s, not one element: select another picture with --kind, --x and --y", s.Kind, o.Var, dim)
		}
	}
	return nil
}

// selections returns the position of the picture in other dimensions, from --dim, --records and --level.
func (f *plotFlags) selections(data *fieldplot.Data, name string) (out []slab.Arg, err error) {
	list := f.dims
	if f.record != "" {
		d := fieldplot.RecordDim(data.Reader, name)
		if d == "" {
			return nil, cli.Usagef("--records: %s has no records", name)
		}
		list = append(list, d+","+f.record)
	}
	if f.level != "" {
		d := fieldplot.LevelDim(data, name)
		if d == "" {
			return nil, cli.Usagef("--level: %s has no levels", name)
		}
		list = append(list, d+","+f.level)
	}
	for _, s := range list {
		a, err := slab.Parse(s)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}
