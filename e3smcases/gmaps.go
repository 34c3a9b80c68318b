package e3smcases

import (
	"fmt"
	"math"

	"blobio/decomp"
)

// G describes the maps of the G case.
type G struct {
	Cells  int // nCells, which determines the numbers of edges and vertices
	Levels int // nVertLevels, 100 in the captured map
	Ranks  int
	Seed   int64 // 0: the plain coast; other seeds distort the coast slightly
}

// Maps returns D1 to D6, sorted and merged: cells, edges, cells x levels, edges x levels,
// vertices x levels, cells x (levels + 1).
func (g G) Maps() ([]*decomp.Map, error) {
	if g.Levels < 1 {
		return nil, fmt.Errorf("G: %d levels, want >= 1", g.Levels)
	}
	if g.Ranks < 1 || g.Ranks > decomp.MaxRanks {
		return nil, fmt.Errorf("G: %d ranks, want 1 to %d", g.Ranks, decomp.MaxRanks)
	}
	o, err := newOcean(g.Cells, g.Seed)
	if err != nil {
		return nil, err
	}
	owner := newLists(o.partition(min(g.Ranks, g.Cells)), g.Ranks) // if there are more ranks than cells, the last ranks get none
	one := make([]int32, o.cells+1)                                // item c of cell c: the cell itself
	for i := range one {
		one[i] = int32(i)
	}
	lev := int64(g.Levels)
	maps := make([]*decomp.Map, 0, 6)
	for _, m := range []struct {
		start  []int32
		levels int64 // 0: no level dimension
	}{{one, 0}, {o.edge, 0}, {one, lev}, {o.edge, lev}, {o.vertex, lev}, {one, lev + 1}} {
		d, err := cellMap(m.start, m.levels, owner, g.Ranks)
		if err != nil {
			return nil, err
		}
		maps = append(maps, d)
	}
	return maps, nil
}

// cellMap makes a map of items. A rank owns the items of its cells: start[c] to start[c+1]-1 are the items of cell c. Each
// item is a row of levels, or one element if levels is 0.
func cellMap(start []int32, levels int64, owner lists, ranks int) (*decomp.Map, error) {
	dims := []int64{int64(start[len(start)-1])}
	if levels > 0 {
		dims = append(dims, levels)
	}
	b := decomp.NewBuilder(dims, ranks)
	var reqs []decomp.Req
	for r := range ranks {
		reqs = reqs[:0]
		for _, c := range owner.of(r) {
			lo, hi := int64(start[c]), int64(start[c+1])
			if levels == 0 {
				reqs = appendRun(reqs, lo, hi-lo)
				continue
			}
			for i := lo; i < hi; i++ {
				reqs = append(reqs, decomp.Req{Offset: i * levels, Length: levels})
			}
		}
		if err := b.Set(r, reqs); err != nil {
			return nil, err
		}
	}
	return b.Map()
}

// MeshG holds the positions of a G mesh, in degrees, by number.
type MeshG struct {
	CellLon, CellLat     []float32
	EdgeLon, EdgeLat     []float32
	VertexLon, VertexLat []float32
}

// CoordsG returns the positions of the cells, edges and vertices of G{Cells: ncells}.
func CoordsG(ncells int) (*MeshG, error) {
	o, err := newOcean(ncells, 0)
	if err != nil {
		return nil, err
	}
	m := new(MeshG)
	m.CellLon, m.CellLat = make([]float32, o.cells), make([]float32, o.cells)
	for c := range o.cells {
		put(m.CellLon, m.CellLat, int32(c), [3]float64{float64(o.x[c]), float64(o.y[c]), float64(o.z[c])})
	}
	pos := o.positions()
	nextEdge := append([]int32(nil), o.edge...)
	m.EdgeLon, m.EdgeLat = make([]float32, o.edge[o.cells]), make([]float32, o.edge[o.cells])
	o.g.eachEdge(func(p, q int32) {
		if c := o.lowest(p, q); c >= 0 {
			put(m.EdgeLon, m.EdgeLat, nextEdge[c], pos(p, q))
			nextEdge[c]++
		}
	})
	nextVertex := append([]int32(nil), o.vertex...)
	m.VertexLon, m.VertexLat = make([]float32, o.vertex[o.cells]), make([]float32, o.vertex[o.cells])
	o.g.eachTriangle(func(p, q, r int32) {
		if c := o.lowest(p, q, r); c >= 0 {
			put(m.VertexLon, m.VertexLat, nextVertex[c], pos(p, q, r))
			nextVertex[c]++
		}
	})
	return m, nil
}

func put(lon, lat []float32, i int32, p [3]float64) {
	lo, la := sphere(p[0], p[1], p[2])
	lon[i], lat[i] = float32(lo), float32(la)
}

// positions returns a function that returns the direction of the centre of points.
func (o *ocean) positions() func(points ...int32) [3]float64 {
	at := make([][3]float32, o.g.points())
	o.g.eachPoint(func(id int32, face, b, c int) {
		p := o.g.position(face, b, c)
		r := 1 / math.Sqrt(p[0]*p[0]+p[1]*p[1]+p[2]*p[2])
		at[id] = [3]float32{float32(p[0] * r), float32(p[1] * r), float32(p[2] * r)}
	})
	return func(points ...int32) (sum [3]float64) {
		for _, p := range points {
			for k := range sum {
				sum[k] += float64(at[p][k])
			}
		}
		return sum
	}
}
