package netcdf

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"blobio/cdf5"
	"blobio/internal/amr"
	"blobio/internal/amr/grids"
	"blobio/internal/base/par"
)

// maxGrid is the maximum number of cells of a grid. Levels with more cells get no variables on a grid.
const maxGrid = 1 << 36

// grid is the uniform grid of a level with the positions of its leaf blocks. Refined blocks are omitted, because Enzo-E does not
// advance them.
type grid struct {
	level int
	cells [3]int64         // number of cells of the whole domain
	block [3]int64         // number of cells of a block
	leaf  map[[3]int64]int // row of each leaf in the file, by the leaf's position in blocks
	axis  int              // for a coordinate variable: its axis
}

// gridsOf returns the grids of all levels >= 0 with leaf blocks, coarsest first.
func gridsOf(g *amr.Geometry, list []placed) (out []*grid) {
	of := map[int]*grid{}
	for i := range list {
		l := list[i].Index.Level()
		if l < 0 || !list[i].Leaf {
			continue
		}
		x := of[l]
		if x == nil {
			x = &grid{level: l, leaf: map[[3]int64]int{}}
			cells := 1.0
			for a := range 3 {
				x.block[a] = int64(g.Block[a])
				x.cells[a] = int64(g.Extent(l)[a]) * x.block[a]
				cells *= float64(x.cells[a])
			}
			of[l] = x
			if cells <= maxGrid {
				out = append(out, x)
			}
		}
		var at [3]int64
		for a, c := range list[i].Index.Coord() {
			at[a] = int64(c)
		}
		x.leaf[at] = i
	}
	slices.SortFunc(out, func(a, b *grid) int { return a.level - b.level })
	return out
}

// addGrids adds coordinates and fields on the grid of each level.
func (l *layout) addGrids(fields []amr.Field, list []placed) {
	for _, g := range gridsOf(&l.meta.Geometry, list) {
		of := "_" + strconv.Itoa(g.level)
		var dims []int
		for a := l.meta.Rank - 1; a >= 0; a-- {
			axis := "xyz"[a : a+1]
			dims = append(dims, l.dim(axis+of, g.cells[a]))
			along := *g
			along.axis = a
			l.vars = append(l.vars, variable{name: axis + of, typ: cdf5.Double, dims: dims[len(dims)-1:], list: -1, grid: &along, of: origin{kind: ofTables},
				atts: []cdf5.Att{att("long_name", fmt.Sprintf("centres of the cells of level %d along %s", g.level, axis)), att("units", CodeUnits), att("axis", "XYZ"[a:a+1])}})
		}
		for i := range fields {
			spec := fields[i].Spec
			if !spec.Type.Float() {
				continue
			}
			v := variable{name: spec.Name + of, typ: fileTypes[spec.Type], dims: dims, list: -1, grid: g, of: origin{kind: ofField, i: i}}
			for slices.ContainsFunc(l.vars, func(w variable) bool { return w.name == v.name }) {
				v.name += "_"
			}
			v.atts = []cdf5.Att{att("long_name", fmt.Sprintf("%s in the leaf blocks of level %d", spec.Name, g.level)), att("units", CodeUnits),
				att("_FillValue", cdf5.FillValue(v.typ)), att("level", int32(g.level))}
			if spec.Scrambled {
				v.atts = append(v.atts, att("scrambled", int32(1)))
			}
			l.vars = append(l.vars, v)
		}
	}
}

// CodeUnits is the unit of positions and fields in the file, because every simulation chooses its own units.
const CodeUnits = "code units"

// leafKey is the cache key of a field in a block.
type leafKey struct{ row, field int }

// unit returns the elements of one row of cells in a block, so that a damaged block causes errors only at its own cells.
func (g *grid) unit(v *variable, at int64) (lo, hi int64) {
	if v.of.kind == ofTables {
		const step = tableBytes / 8
		lo = at / step * step
		return lo, min(lo+step, g.cells[g.axis])
	}
	lo = at - at%g.cells[0]%g.block[0]
	return lo, lo + g.block[0]
}

// centres computes the positions of cells along an axis.
func (g *grid) centres(m *amr.Geometry, lo, hi int64, dst []byte) {
	a := g.axis
	for i := lo; i < hi; i++ {
		x := m.Lower[a] + (float64(i)+0.5)*m.CellWidth(g.level)[a]
		binary.BigEndian.PutUint64(dst[8*(i-lo):], math.Float64bits(x))
	}
}

// onGrid computes elements [lo, hi) of a field on the grid of a level. It reads each block once.
func (m *maker) onGrid(ctx context.Context, v *variable, lo, hi int64, dst []byte) error {
	g := v.grid
	if v.of.kind == ofTables {
		g.centres(&m.l.meta.Geometry, lo, hi, dst)
		return nil
	}
	size := int64(v.typ.Size())
	cdf5.FillBytes(dst, v.typ, binary.BigEndian, nil)
	starts := map[int][]int64{} // first elements of the rows of cells, by leaf
	var rows []int
	for e := lo; e < hi; e += g.block[0] {
		x, y, z := g.cell(e)
		row, ok := g.leaf[[3]int64{x / g.block[0], y / g.block[1], z / g.block[2]}]
		if !ok {
			continue
		}
		if starts[row] == nil {
			rows = append(rows, row)
		}
		starts[row] = append(starts[row], e)
	}
	return par.Each(ctx, m.workers, len(rows), func(ctx context.Context, n int) error {
		row := rows[n]
		values, err := m.leaves.Make(ctx, leafKey{row, v.of.i}, func() ([]float64, error) {
			b, err := m.withField(ctx, row, v.of.i)
			if err != nil {
				return nil, err
			}
			f := &b.Fields[v.of.i]
			f.Spec, f.Ghosts = &m.meta.Fields[v.of.i], m.ghosts(v.of.i)
			return grids.Cells(&m.l.meta.Geometry, f), nil
		})
		if err != nil {
			return err
		}
		for _, e := range starts[row] {
			_, y, z := g.cell(e)
			first := (z%g.block[2]*g.block[1] + y%g.block[1]) * g.block[0]
			to := dst[(e-lo)*size:]
			for i, x := range values[first : first+g.block[0]] {
				if size == 4 {
					binary.BigEndian.PutUint32(to[4*i:], math.Float32bits(float32(x)))
				} else {
					binary.BigEndian.PutUint64(to[8*i:], math.Float64bits(x))
				}
			}
		}
		return nil
	})
}

// cell returns the position of element e in cells.
func (g *grid) cell(e int64) (x, y, z int64) {
	return e % g.cells[0], e / g.cells[0] % g.cells[1], e / g.cells[0] / g.cells[1]
}
