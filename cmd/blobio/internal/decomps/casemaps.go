package decomps

import (
	"math"

	"blobio/blob"
	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/cli"
)

// CaseMaps makes the maps of an E3SM case for the sizes of a dataset.
func CaseMaps(name string, s *blob.Schema, ranks int) ([]*decomp.Map, error) {
	c, err := e3smcases.Load(name)
	if err != nil {
		return nil, err
	}
	if ranks < 1 {
		return nil, cli.Usagef("--case without --map generates maps: give --ranks")
	}
	// length of dimension i of map k of the case, in the dataset
	size := func(k, i int) (int64, error) {
		want := c.Dims[c.MapDims[k][i]].Name
		for _, d := range s.Dims() {
			if d.Name == want {
				return d.Len, nil
			}
		}
		return 0, cli.Usagef("the dataset has no dimension %q, which map D%d of case %s wants", want, k+1, name)
	}
	sizes := func(k int) (n []int, err error) {
		for i := range c.MapDims[k] {
			l, err := size(k, i)
			if err != nil {
				return nil, err
			}
			if l < 1 || l > math.MaxInt32 {
				return nil, cli.Usagef("dimension %q has length %d", c.Dims[c.MapDims[k][i]].Name, l)
			}
			n = append(n, int(l))
		}
		return n, nil
	}
	g := GenFlags{Ranks: ranks, ne: 1, cells: 1, lat: 1, lon: 1} // those of other cases do not matter
	switch name[0] {
	case 'F': // D3 is lev x ncol
		n, err := sizes(2)
		if err != nil {
			return nil, err
		}
		g.lev, g.ne = n[0], int(math.Round(math.Sqrt(float64(n[1]-2)/54)))
		if 54*g.ne*g.ne+2 != n[1] {
			return nil, cli.Usagef("%d columns are not those of a cubed sphere (54 ne^2 + 2): give --map", n[1])
		}
	case 'G': // D3 is nCells x nVertLevels
		n, err := sizes(2)
		if err != nil {
			return nil, err
		}
		g.cells, g.lev = n[0], n[1]
	case 'I': // D1 is lat x lon, the others have levels before them
		n, err := sizes(0)
		if err != nil {
			return nil, err
		}
		g.lat, g.lon = n[0], n[1]
		for k := 1; k < len(c.MapDims); k++ {
			if n, err = sizes(k); err != nil {
				return nil, err
			}
			g.levels = append(g.levels, n[0])
		}
	}
	return g.Maps(name[:1])
}
