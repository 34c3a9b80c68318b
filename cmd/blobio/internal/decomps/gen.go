package decomps

import (
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"blobio/decomp"
	"blobio/decomp/mapfile"
	"blobio/e3smcases"
	"blobio/internal/cli"
)

// GenFlags are the sizes of generated maps. The defaults are the sizes of the captured maps in E3SM-IO.
type GenFlags struct {
	ne, lev  int
	cells    int
	lat, lon int
	levels   []int
	seed     int64
	Ranks    int
}

func (g *GenFlags) Add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVar(&g.ne, "ne", 4, "F: number of elements along the edge of a cube face, for 54 ne^2 + 2 columns")
	fl.IntVar(&g.lev, "lev", 0, "F and G: number of levels (default: F 72, G 100)")
	fl.IntVar(&g.cells, "cells", 285, "G: number of cells of the ocean mesh; determines the numbers of edges and vertices")
	fl.IntVar(&g.lat, "lat", 96, "I: number of latitudes")
	fl.IntVar(&g.lon, "lon", 144, "I: number of longitudes")
	fl.IntSliceVar(&g.levels, "levels", nil, "I: numbers of levels of D2, D3, D4, D5 (default 15,10,9,17)")
	fl.Int64Var(&g.seed, "seed", 0, "G and I: seed of the generated coast; 0 is a coarse Earth")
	fl.IntVar(&g.Ranks, "ranks", 16, "number of ranks")
}

// Stray returns an error for a size flag that does not belong to the case.
func (g *GenFlags) Stray(cmd *cobra.Command, letter string) error {
	of := map[string][]string{"F": {"ne", "lev"}, "G": {"cells", "lev", "seed"}, "I": {"lat", "lon", "levels", "seed"}}
	for _, name := range []string{"ne", "lev", "cells", "lat", "lon", "levels", "seed"} {
		if cmd.Flags().Changed(name) && !slices.Contains(of[letter], name) {
			return cli.Usagef("--%s does not apply to the %s case", name, letter)
		}
	}
	return nil
}

func (g *GenFlags) Maps(letter string) ([]*decomp.Map, error) {
	lev := g.lev
	if err := CheckRanks(g.Ranks); err != nil {
		return nil, err
	}
	switch {
	case g.Ranks < 1:
		return nil, cli.Usagef("--ranks %d, want a positive number", g.Ranks)
	case g.lev < 0 || g.ne < 1 || g.cells < 1 || g.lat < 1 || g.lon < 1:
		return nil, cli.Usagef("sizes must be positive numbers")
	case g.ne > math.MaxInt16:
		return nil, cli.Usagef("--ne %d, want at most %d", g.ne, math.MaxInt16)
	}
	switch letter {
	case "F":
		if lev == 0 {
			lev = 72
		}
		return e3smcases.F{Ne: g.ne, Levels: lev, Ranks: g.Ranks}.Maps()
	case "G":
		if lev == 0 {
			lev = 100
		}
		return e3smcases.G{Cells: g.cells, Levels: lev, Ranks: g.Ranks, Seed: g.seed}.Maps()
	case "I":
		if n := len(g.levels); n != 0 && n != 4 {
			return nil, cli.Usagef("--levels has %d numbers, want 4", n)
		}
		return e3smcases.I{Lat: g.lat, Lon: g.lon, Levels: g.levels, Ranks: g.Ranks, Seed: g.seed}.Maps()
	}
	return nil, cli.Usagef("case %q, want F, G or I", letter)
}

func newDecompGen(e *cli.Env) *cobra.Command {
	var g GenFlags
	var o mapOutput
	cmd := &cobra.Command{
		Use:   "gen F|G|I OUT",
		Short: "Generate the maps of an E3SM case",
		Long: `Generate the maps of an E3SM case of any size, for any number of ranks, as a map file
(.nc, .h5) or as text (.dat).

  F   atmosphere: D1 dynamics columns, D2 physics columns, D3 lev x physics columns
  G   ocean: D1 cells, D2 edges; with levels D3 cells, D4 edges, D5 vertices, D6 cells
  I   land: D1 latitudes x longitudes, D2 to D5 the same with levels; only land has owners

The F maps equal the maps of the real model. The G and I maps distribute elements as the
real models do, on a generated mesh and coast.

JSON: {format, maps, ranks, files: [{path, bytes}]}.`,
		Example: `  blobio decomp gen F f.nc                         # same as the captured map: ne 4, 16 ranks
  blobio decomp gen F f30.h5 --ne 30 --ranks 512
  blobio decomp gen G g.nc --cells 7153 --lev 60 --ranks 64
  blobio decomp gen I i.dat --ranks 32`,
		Args:      cli.ExactArgs(2, "a case (F, G or I) and the name of the output"),
		ValidArgs: []string{"F", "G", "I"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.Stray(cmd, args[0]); err != nil && slices.Contains([]string{"F", "G", "I"}, args[0]) {
				return err
			}
			if _, err := o.form(args[1]); err != nil {
				return err
			}
			maps, err := g.Maps(args[0])
			if err != nil {
				return err
			}
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			f, err := mapfile.FromMaps(maps...)
			if err != nil {
				return err
			}
			f.CommandLine = fmt.Sprintf("blobio decomp gen %s", args[0])
			return o.write(cmd.Context(), e, args[1], f)
		},
	}
	g.Add(cmd)
	o.add(cmd)
	return cmd
}
