package decomps

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/cli"
	"blobio/internal/draw/fieldplot"
	"blobio/internal/draw/mapplot"
)

type plotFlags struct {
	cli.PictureFlags
	how    MapFlags
	which  string
	ranks  int
	plane  int64
	where  string
	plate  bool
	asJSON bool
}

func newDecompPlot(e *cli.Env) *cobra.Command {
	var f plotFlags
	cmd := &cobra.Command{
		Use:   "plot FILE... -o OUT",
		Short: "Draw the owner of each element as PNG or SVG",
		Long: `Draw the owner of each element. Each rank has a colour; elements without an owner are grey.
If the dataset has the latitudes and longitudes of the elements, the picture is a map of the
world. Otherwise the picture shows the array. --where dataset or --where index selects one.

JSON: {path, bytes, map, dims, ranks, positions, repeated}.`,
		Example: `  blobio decomp plot map_f_case_16p.nc -o d1.png
  blobio decomp plot map_f_case_16p.nc --map D3 -o d3.svg
  blobio decomp plot run/F_h0.nc --map D2 --ranks 4 -o d2.png`,
		Args: cli.MinArgs(1, "a map file or a dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args)
		},
	}
	fl := cmd.Flags()
	f.Add(cmd)
	fl.StringVar(&f.which, "map", "D1", "map: D1, D2, ...")
	fl.IntVar(&f.ranks, "ranks", 0, "number of ranks over which the processes of the map are distributed")
	fl.Int64Var(&f.plane, "level", 0, "level (plane) of a map with several levels, from 0")
	cli.ChoiceFlag(cmd, &f.where, "where", "auto", "positions of the elements: latitudes and longitudes, or array indices", "auto", "dataset", "index")
	fl.BoolVar(&f.plate, "plate", false, "draw plain longitude and latitude axes instead of the equal-area projection")
	f.how.addHow(cmd)
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *plotFlags) run(ctx context.Context, e *cli.Env, paths []string) error {
	k, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(f.which), "D"))
	if err != nil || k < 1 {
		return cli.Usagef("--map %q, want D1, D2, ...", f.which)
	}
	if f.ranks < 0 {
		return cli.Usagef("--ranks %d, want a positive number", f.ranks)
	}
	src, err := openMaps(ctx, paths...)
	if err != nil {
		return err
	}
	if k > len(src.file.Maps) {
		return fmt.Errorf("%s has no map D%d, number of maps: %d", strings.Join(paths, ", "), k, len(src.file.Maps))
	}
	maps, err := f.how.deal(src.file, f.ranks)
	if err != nil {
		return err
	}
	m := maps[k-1]
	o := &mapplot.Options{Title: fmt.Sprintf("%s: owners of D%d", filepath.Base(paths[0]), k), Width: f.Width, Plane: f.plane, Plate: f.plate}
	where, err := f.positions(ctx, o, paths, k)
	if err != nil {
		return err
	}
	p, err := mapplot.Draw(m, o)
	if err != nil {
		return err
	}
	n, err := f.Write(ctx, p)
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"path": f.Name, "bytes": n, "map": fmt.Sprintf("D%d", k), "dims": m.Dims(), "ranks": m.Ranks(), "positions": where, "repeated": m.Repeats().Again})
	}
	fmt.Fprintf(e.Out, "%s: owners of D%d, %s, %s\n", f.Name, k, map[string]string{"dataset": "on the globe (coordinates of the dataset)", "index": "as an array"}[where], cli.HumanBytes(n))
	if again := m.Repeats(); again.Again > 0 {
		fmt.Fprintf(e.Out, "D%d: %v\n", k, again)
	}
	return nil
}

// positions sets the coordinates of map k's elements in o, and returns their source.
func (f *plotFlags) positions(ctx context.Context, o *mapplot.Options, paths []string, k int) (string, error) {
	if f.where == "index" {
		return "index", nil
	}
	ok, err := ofDataset(ctx, o, paths, k)
	switch {
	case err != nil || ok:
		return "dataset", err
	case f.where == "dataset":
		return "", fmt.Errorf("%s has no latitudes and longitudes of the elements of D%d", strings.Join(paths, ", "), k)
	}
	return "index", nil
}

// ofDataset stores in o the coordinates of the elements of map Dk, from the dataset. It returns false if the path is not a
// dataset, or if the dataset has no coordinates.
func ofDataset(ctx context.Context, o *mapplot.Options, paths []string, k int) (bool, error) {
	if len(paths) != 1 {
		return false, nil
	}
	r, err := blob.Open(ctx, paths[0], nil)
	if err != nil {
		return false, nil // a map file
	}
	defer r.Close()
	ids := r.Schema().DecompDimIDs(blob.DecompID(k))
	if ids == nil {
		return false, nil
	}
	var ok bool
	o.Lon, o.Lat, ok, err = fieldplot.Positions(ctx, r, ids)
	return ok, err
}
