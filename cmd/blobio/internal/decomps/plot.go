package decomps

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/cli"
	"blobio/internal/plot/mapplot"
)

type plotFlags struct {
	cli.PictureFlags
	how    MapFlags
	which  string
	ranks  int
	plane  int64
	where  string
	plate  bool
	lines  bool
	ne     int
	seed   int64
	asJSON bool
}

func newDecompPlot(e *cli.Env) *cobra.Command {
	var f plotFlags
	cmd := &cobra.Command{
		Use:   "plot FILE... -o OUT",
		Short: "Draw who owns what, as PNG or SVG",
		Long: `Draw the owners of elements: a colour for each rank, grey for elements without an owner.
If the positions of the elements are known, the picture is a map of the world: columns
of the F case (54 ne^2 + 2 elements), the grid of the I case, the mesh of G maps that
blobio made. Otherwise it is a picture of the array. --where chooses: auto, F, G, I, or
index for the array.

JSON: {path, bytes, map, dims, ranks, positions}.`,
		Example: `  blobio decomp plot map_f_case_16p.nc -o d1.png
  blobio decomp plot map_f_case_16p.nc --map D3 --where index -o d3.svg
  blobio decomp plot map_i_case_16p.nc --plate -o land.png
  blobio decomp plot run/F_h0.nc --map D2 --ranks 4 -o d2.png`,
		Args: cli.MinArgs(1, "a map file or a dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args)
		},
	}
	fl := cmd.Flags()
	f.Add(cmd, 720, "describes the picture")
	fl.StringVar(&f.which, "map", "D1", "map: D1, D2, ...")
	fl.IntVar(&f.ranks, "ranks", 0, "deal the map processes to this many ranks")
	fl.Int64Var(&f.plane, "level", 0, "level (plane) of a map that has several, from 0")
	cli.ChoiceFlag(cmd, &f.where, "where", "auto", "where the elements lie", "auto", "F", "G", "I", "index")
	fl.BoolVar(&f.plate, "plate", false, "longitude and latitude at right angles instead of the equal-area projection")
	fl.BoolVar(&f.lines, "no-borders", false, "omit lines between ranks")
	fl.IntVar(&f.ne, "ne", 0, "F: elements along a side of a cube face (default: follows from the size)")
	fl.Int64Var(&f.seed, "seed", 0, "G: seed that the map was made with")
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
		return fmt.Errorf("%s: no map D%d, there are %d", strings.Join(paths, ", "), k, len(src.file.Maps))
	}
	maps, err := f.how.deal(src.file, f.ranks)
	if err != nil {
		return err
	}
	m := maps[k-1]
	o := &mapplot.Options{Title: f.Title, Width: f.Width, Plane: f.plane, NoBorders: f.lines}
	where, err := f.positions(o, maps, k)
	if err != nil {
		return err
	}
	if f.plate {
		o.Projection = mapplot.Plate
	}
	if o.Title == "" {
		o.Title = fmt.Sprintf("%s: owners of D%d", filepath.Base(paths[0]), k)
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
		return e.PrintJSON(map[string]any{"path": f.Name, "bytes": n, "map": fmt.Sprintf("D%d", k), "dims": m.Dims(), "ranks": m.Ranks(), "positions": where})
	}
	fmt.Fprintf(e.Out, "%s: owners of D%d, %s, %s\n", f.Name, k, map[string]string{"F": "on the globe (F columns)", "G": "on the globe (G mesh)",
		"I": "on the globe (I grid)", "index": "as an array"}[where], cli.HumanBytes(n))
	return nil
}

var errNoPositions = errors.New("the positions of these elements are not known")

// maxPositions bounds the elements of a plane that are drawn on the globe: each takes about 60 bytes, and a small file can have a map of
// any size. A larger plane is drawn as an array.
const maxPositions = 1 << 26

// positions gives o the coordinates of map k's elements, and tells of which case.
func (f *plotFlags) positions(o *mapplot.Options, maps []*decomp.Map, k int) (string, error) {
	try := []string{f.where}
	switch f.where {
	case "index":
		return "index", nil
	case "auto":
		try = []string{"F", "I", "G"}
	}
	for _, c := range try {
		lon, lat, err := coordinates(c, maps, k, f.ne, f.seed)
		if err == nil {
			o.Lon, o.Lat = lon, lat
			return c, nil
		}
		if f.where != "auto" || !errors.Is(err, errNoPositions) {
			return "", err
		}
	}
	return "index", nil
}

// coordinates returns where the elements of map k lie, one plane of them, if
// the maps can be those of the case.
func coordinates(name string, maps []*decomp.Map, k, ne int, seed int64) (lon, lat []float32, err error) {
	no := func(format string, args ...any) ([]float32, []float32, error) {
		return nil, nil, fmt.Errorf("%w: %s", errNoPositions, fmt.Sprintf(format, args...))
	}
	dims := maps[k-1].Dims()
	n := dims[len(dims)-1]
	plane := n
	if name == "I" && len(dims) > 1 {
		plane *= dims[len(dims)-2]
	}
	if plane > maxPositions {
		return no("%d elements in a plane, want at most %d", plane, maxPositions)
	}
	switch name {
	case "F":
		if ne == 0 {
			ne = int(math.Round(math.Sqrt(math.Max(0, float64(n-2)) / 54)))
		}
		if int64(54*ne*ne+2) != n || ne < 1 || len(dims) > 2 {
			return no("%s is not of 54 ne^2 + 2 columns", dimsText(dims))
		}
		x, y := e3smcases.CoordsF(ne)
		return toFloat32(x), toFloat32(y), nil
	case "I":
		if len(dims) < 2 || len(maps) != 5 {
			return no("%s of %s is not the grid of an I case", dimsText(dims), cli.Plural(len(maps), "map"))
		}
		nlon, nlat := dims[len(dims)-1], dims[len(dims)-2]
		x, y := e3smcases.CoordsI(int(nlat), int(nlon))
		for _, b := range y {
			for _, a := range x {
				lon, lat = append(lon, float32(a)), append(lat, float32(b))
			}
		}
		return lon, lat, nil
	case "G":
		if len(maps) != 6 || len(maps[0].Dims()) != 1 || len(maps[1].Dims()) != 1 || len(maps[4].Dims()) != 2 {
			return no("these are not the six maps of a G case")
		}
		cells, edges, vertices := maps[0].Dims()[0], maps[1].Dims()[0], maps[4].Dims()[0]
		mesh, err := e3smcases.CoordsG(int(cells), seed)
		if err != nil {
			return nil, nil, err
		}
		if int64(len(mesh.EdgeLon)) != edges || int64(len(mesh.VertexLon)) != vertices {
			return no("%d edges and %d vertices, the mesh that blobio makes of %d cells has %d and %d", edges, vertices, cells, len(mesh.EdgeLon), len(mesh.VertexLon))
		}
		switch dims[0] {
		case cells:
			return mesh.CellLon, mesh.CellLat, nil
		case edges:
			return mesh.EdgeLon, mesh.EdgeLat, nil
		}
		return mesh.VertexLon, mesh.VertexLat, nil
	}
	return no("case %q", name)
}

func toFloat32(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}
