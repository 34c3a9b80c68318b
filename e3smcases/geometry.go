package e3smcases

import (
	"fmt"
	"math"
	"sync"
)

// geometry holds the positions on the sphere of the elements of a case's maps. It is safe for concurrent use.
type geometry struct {
	places []place // by map
}

// place describes how a map uses a grid of points.
type place struct {
	*points
	levels int64 // 1 if the map has no level dimension
	inner  bool  // the level is the fastest dimension
}

// points holds the positions of a horizontal grid, computed on first use.
type points struct {
	n    int64
	land *terrain
	make func() (lon, lat []float32)

	once sync.Once
	list []point
}

// point holds the inputs of smooth fields at one position.
type point struct {
	lat, lon   float32 // in degrees
	sin2       float32 // square of the sine of latitude
	coast      float32 // degrees from the coast, positive on land
	w0, w1, w2 float32 // waves, about -1 to 1
}

// newGeometry returns the positions of the elements of case c, whose dimensions must match its maps. F with ncol = 54 ne^2
// + 2 has the columns of CoordsF. G has the mesh of CoordsG if the numbers of edges and vertices match. I has the axes of
// coordsI. For other sizes the points are spread evenly over the sphere. Positions are computed on first use.
func newGeometry(c *Case) (*geometry, error) {
	land, err := newTerrain(0)
	if err != nil {
		return nil, err
	}
	size := func(name string) int64 {
		if d := c.DimIndex(name); d >= 0 {
			return c.Dims[d].Len
		}
		return 0
	}
	grid := func(n int64, make func() (lon, lat []float32)) *points {
		return &points{n: n, land: land, make: make}
	}
	g := new(geometry)
	switch c.component() {
	case 'F':
		ncol := size("ncol")
		p := grid(ncol, func() ([]float32, []float32) { return columns(ncol) })
		g.places = []place{{p, 1, false}, {p, 1, false}, {p, size("lev"), false}}
	case 'G':
		mesh := sync.OnceValue(func() *MeshG {
			if size("nCells") > maxCells {
				return nil
			}
			m, err := CoordsG(int(size("nCells")))
			if err != nil || int64(len(m.EdgeLon)) != size("nEdges") || int64(len(m.VertexLon)) != size("nVertices") {
				return nil // not a mesh of CoordsG
			}
			return m
		})
		of := func(dim string, pick func(*MeshG) ([]float32, []float32)) *points {
			n := size(dim)
			return grid(n, func() ([]float32, []float32) {
				if m := mesh(); m != nil {
					return pick(m)
				}
				return spiral(n)
			})
		}
		cell := of("nCells", func(m *MeshG) ([]float32, []float32) { return m.CellLon, m.CellLat })
		edge := of("nEdges", func(m *MeshG) ([]float32, []float32) { return m.EdgeLon, m.EdgeLat })
		vertex := of("nVertices", func(m *MeshG) ([]float32, []float32) { return m.VertexLon, m.VertexLat })
		lev := size("nVertLevels")
		g.places = []place{{cell, 1, true}, {edge, 1, true}, {cell, lev, true}, {edge, lev, true},
			{vertex, lev, true}, {cell, size("nVertLevelsP1"), true}}
	case 'I':
		nlat, nlon := size("lat"), size("lon")
		p := grid(nlat*nlon, func() ([]float32, []float32) { return cells(int(nlat), int(nlon)) })
		for k := range c.MapDims {
			l := int64(1)
			if k > 0 {
				l = c.Extents(k + 1)[0]
			}
			g.places = append(g.places, place{p, l, false})
		}
	default:
		return nil, fmt.Errorf("case %s has no geometry", c.Name)
	}
	return g, nil
}

// split returns the horizontal point and the level of a canonical index.
func (p *place) split(i int64) (at, level int64) {
	if p.inner {
		return i / p.levels, i % p.levels
	}
	return i % p.n, i / p.n
}

func (p *points) get() []point {
	p.once.Do(func() {
		lon, lat := p.make()
		p.list = make([]point, len(lon))
		for i := range lon {
			p.list[i] = newPoint(p.land, float64(lon[i]), float64(lat[i]))
		}
	})
	return p.list
}

// weather holds three families of waves over the sphere: direction times wave number, and phase.
var weather = [3][3]wave{
	{{2, 1, 3, 0.3, 0.5}, {-3, 2, 1, 1.9, 0.3}, {4, -3, 5, 4.0, 0.2}},
	{{1, -4, 2, 2.2, 0.5}, {5, 3, -2, 0.7, 0.3}, {-2, 6, 5, 5.1, 0.2}},
	{{3, 3, -3, 1.1, 0.5}, {-6, 1, 2, 3.3, 0.3}, {1, 7, 4, 0.9, 0.2}},
}

func newPoint(land *terrain, lon, lat float64) point {
	z, r := math.Sincos(lat * math.Pi / 180)
	s, c := math.Sincos(lon * math.Pi / 180)
	var w [3]float32
	for k := range w {
		sum := 0.0
		for _, v := range weather[k] {
			sum += v.amp * math.Sin(v.x*r*c+v.y*r*s+v.z*z+v.phase)
		}
		w[k] = float32(sum)
	}
	return point{lat: float32(lat), lon: float32(lon), sin2: float32(z * z), coast: float32(land.at(lon, lat)),
		w0: w[0], w1: w[1], w2: w[2]}
}

// columns returns the positions of n atmosphere columns.
func columns(n int64) (lon, lat []float32) {
	ne, ok := sideOf(n)
	if !ok {
		return spiral(n)
	}
	lo, la := CoordsF(ne)
	lon, lat = make([]float32, n), make([]float32, n)
	for i := range lo {
		lon[i], lat[i] = float32(lo[i]), float32(la[i])
	}
	return lon, lat
}

// cells returns the positions of the points of a grid.
func cells(nlat, nlon int) (lon, lat []float32) {
	x, y := coordsI(nlat, nlon)
	for i := range y {
		for j := range x {
			lon, lat = append(lon, float32(x[j])), append(lat, float32(y[i]))
		}
	}
	return lon, lat
}

// spiral spreads n points evenly over the sphere, from pole to pole.
func spiral(n int64) (lon, lat []float32) {
	lon, lat = make([]float32, n), make([]float32, n)
	golden := 180 * (3 - math.Sqrt(5))
	for i := range lon {
		lon[i] = float32(math.Mod(float64(i)*golden, 360))
		lat[i] = float32(math.Asin((2*float64(i)+1)/float64(n)-1) * 180 / math.Pi)
	}
	return lon, lat
}
