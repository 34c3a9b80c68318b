package e3smcases

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"blobio/decomp"
)

// The curve visits every cell once, and each step leads to a neighbour.
func TestFaceCurve(t *testing.T) {
	for n := 1; n <= 40; n++ {
		order, err := faceCurve(n)
		if err != nil {
			t.Fatal(err)
		}
		at := make([][2]int, n*n)
		seen := make([]bool, n*n)
		for i := range n {
			for j := range n {
				k := order[i*n+j]
				if k < 0 || int(k) >= n*n || seen[k] {
					t.Fatalf("n=%d: place %d of cell (%d, %d) is wrong or taken", n, k, i, j)
				}
				seen[k], at[k] = true, [2]int{i, j}
			}
		}
		rest := n
		for _, f := range []int{2, 3, 5} {
			for rest%f == 0 {
				rest /= f
			}
		}
		if rest > 1 {
			continue // this curve is derived from a larger curve and has jumps
		}
		for k := 1; k < n*n; k++ {
			if d := abs(at[k][0]-at[k-1][0]) + abs(at[k][1]-at[k-1][1]); d != 1 {
				t.Fatalf("n=%d: step %d goes from %v to %v", n, k, at[k-1], at[k])
			}
		}
		if at[0] != [2]int{0, 0} || at[n*n-1] != [2]int{n - 1, 0} {
			t.Errorf("n=%d: from %v to %v", n, at[0], at[n*n-1])
		}
	}
	if _, err := faceCurve(0); err == nil {
		t.Error("a face of no elements has a curve")
	}
}

func abs(x int) int { return max(x, -x) }

// The curve is continuous over the whole cube: consecutive elements share a side.
func TestCubeCurve(t *testing.T) {
	for _, ne := range []int{1, 2, 3, 4, 5, 6, 10, 30} {
		c := cube{ne}
		list, err := c.curve()
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]bool, c.elems())
		for k, e := range list {
			if seen[e] {
				t.Fatalf("ne=%d: element %d twice", ne, e)
			}
			seen[e] = true
			if k > 0 && shared(c, int(list[k-1]), int(e)) != 2 {
				t.Errorf("ne=%d: elements %d and %d follow each other but are no neighbours", ne, list[k-1], e)
			}
		}
	}
}

// corners returns the corners of an element on the integer cube of side 2 ne.
func corners(c cube, e int) (p [4][3]int) {
	f, i, j := c.at(e)
	for k := range p {
		x, y, z := facePoint(f, float64(2*(i+k%2)-c.ne), float64(2*(j+k/2)-c.ne))
		one := func(v float64) int { // facePoint is for a cube of side 2, but gives integers here
			return int(v)
		}
		p[k] = [3]int{one(x), one(y), one(z)}
		switch f { // the coordinate across the face is +-1 here, but +-ne on the cube
		case 0, 2:
			p[k][0] *= c.ne
		case 1, 3:
			p[k][1] *= c.ne
		default:
			p[k][2] *= c.ne
		}
	}
	return p
}

func shared(c cube, a, b int) (n int) {
	for _, p := range corners(c, a) {
		for _, q := range corners(c, b) {
			if p == q {
				n++
			}
		}
	}
	return n
}

// TestColumnNumbering compares the numbering with its definition: each point belongs to the first element that touches the point.
func TestColumnNumbering(t *testing.T) {
	for ne := 1; ne <= 5; ne++ {
		c := cube{ne}
		owner := map[[3]int]int{}
		cols := int64(0)
		for e := range c.elems() {
			f, ie, je := c.at(e)
			i0, i1, j0, j1 := c.own(e)
			for j := range np {
				for i := range np {
					side := 3 * ne
					x, y, z := facePoint(f, float64(2*(3*ie+i)-side), float64(2*(3*je+j)-side))
					p := [3]int{int(x), int(y), int(z)}
					switch f {
					case 0, 2:
						p[0] *= side
					case 1, 3:
						p[1] *= side
					default:
						p[2] *= side
					}
					_, old := owner[p]
					if !old {
						owner[p] = e
					}
					if own := i >= i0 && i < i1 && j >= j0 && j < j1; own == old {
						t.Fatalf("ne=%d: point (%d, %d) of element %d: owned %v, met before %v", ne, i, j, e, own, old)
					}
				}
			}
			cols += c.count(e)
		}
		if cols != c.cols() || int64(len(owner)) != cols {
			t.Errorf("ne=%d: %d columns, %d points, want %d", ne, cols, len(owner), c.cols())
		}
		lon, lat := CoordsF(ne)
		seen := map[[2]int]bool{}
		for i := range lon {
			if lon[i] < 0 || lon[i] >= 360 || math.Abs(lat[i]) > 90 {
				t.Fatalf("ne=%d: column %d at %g, %g", ne, i, lon[i], lat[i])
			}
			k := [2]int{int(math.Round(lon[i] * 1e6)), int(math.Round(lat[i] * 1e6))}
			if seen[k] {
				t.Errorf("ne=%d: two columns at %g, %g", ne, lon[i], lat[i])
			}
			seen[k] = true
		}
		if int64(len(lon)) != cols {
			t.Errorf("ne=%d: %d positions for %d columns", ne, len(lon), cols)
		}
	}
}

// whole checks that each element of each map has exactly one owner.
func whole(t testing.TB, maps []*decomp.Map, what string) {
	t.Helper()
	for k, m := range maps {
		c, err := m.Coverage()
		if err != nil {
			t.Fatal(err)
		}
		if c.Covered != m.Elems() || c.Overlapped != 0 {
			t.Fatalf("%s: D%d covers %d of %d elements, %d more than once", what, k+1, c.Covered, m.Elems(), c.Overlapped)
		}
	}
}

func TestGeneratedMapsCover(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ranks := rapid.IntRange(1, 300).Draw(r, "ranks")
		f := F{Ne: rapid.IntRange(1, 9).Draw(r, "ne"), Levels: rapid.IntRange(1, 4).Draw(r, "levels"), Ranks: ranks}
		maps, err := f.Maps()
		if err != nil {
			r.Fatal(err)
		}
		whole(t, maps, fmt.Sprint(f))
		g := G{Cells: rapid.IntRange(1, 400).Draw(r, "cells"), Levels: rapid.IntRange(1, 4).Draw(r, "depth"), Ranks: ranks, Seed: rapid.Int64Range(0, 5).Draw(r, "seed")}
		maps, err = g.Maps()
		if err != nil {
			r.Fatal(err)
		}
		whole(t, maps, fmt.Sprint(g))
		if m := maps[0]; m.Elems() != int64(g.Cells) {
			t.Fatalf("%v has %d cells", g, m.Elems())
		}
		i := I{Lat: rapid.IntRange(2, 40).Draw(r, "lat"), Lon: rapid.IntRange(1, 60).Draw(r, "lon"), Ranks: ranks, Seed: g.Seed}
		maps, err = i.Maps()
		if err != nil {
			r.Fatal(err)
		}
		land := int64(0)
		for _, l := range landMask(i.Lat, i.Lon, i.Seed) {
			if l {
				land++
			}
		}
		for k, m := range maps {
			c, err := m.Coverage()
			if err != nil || c.Overlapped != 0 || c.Covered != land*m.Elems()/int64(i.Lat*i.Lon) {
				t.Fatalf("%v: D%d: %+v, %v; %d land cells", i, k+1, c, err, land)
			}
		}
	})
}

// Equal arguments give equal maps, and another seed gives other maps.
func TestGeneratedMapsRepeat(t *testing.T) {
	gen := func(seed int64) (all []*decomp.Map) {
		for _, f := range []func() ([]*decomp.Map, error){
			func() ([]*decomp.Map, error) { return F{Ne: 6, Levels: 3, Ranks: 7}.Maps() },
			func() ([]*decomp.Map, error) { return G{Cells: 500, Levels: 3, Ranks: 7, Seed: seed}.Maps() },
			func() ([]*decomp.Map, error) { return I{Lat: 30, Lon: 40, Ranks: 7, Seed: seed}.Maps() },
		} {
			m, err := f()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, m...)
		}
		return all
	}
	a, b, c := gen(1), gen(1), gen(2)
	changed := 0
	for k := range a {
		if !a[k].Equal(b[k]) {
			t.Errorf("map %d differs between two runs", k)
		}
		if !a[k].Equal(c[k]) {
			changed++
		}
	}
	if changed < 6 {
		t.Errorf("%d of %d maps depend on the seed", changed, len(a))
	}
}

func TestGeneratorArguments(t *testing.T) {
	for _, f := range []F{{0, 1, 1}, {7000, 1, 1}, {1, 0, 1}, {1, 1, 0}} {
		if _, err := f.Maps(); err == nil {
			t.Errorf("%+v was taken", f)
		}
	}
	for _, g := range []G{{0, 1, 1, 0}, {maxCells + 1, 1, 1, 0}, {1, 0, 1, 0}, {1, 1, 0, 0}} {
		if _, err := g.Maps(); err == nil {
			t.Errorf("%+v was taken", g)
		}
	}
	for _, i := range []I{{Lat: 1, Lon: 1, Ranks: 1}, {Lat: 2, Lon: 0, Ranks: 1}, {Lat: 2, Lon: 1}, {Lat: 2, Lon: 1, Ranks: 1, Levels: []int{1}},
		{Lat: 2, Lon: 1, Ranks: 1, Levels: []int{1, 1, 0, 1}}, {Lat: 2, Lon: 1, Ranks: 1, Mask: make([]bool, 3)}, {Lat: 1 << 20, Lon: 1 << 20, Ranks: 1}} {
		if _, err := i.Maps(); err == nil {
			t.Errorf("%+v was taken", i)
		}
	}
}

// Euler's formula: cells - edges + vertices of the whole sphere is 2.
func TestGeodesic(t *testing.T) {
	for f := 1; f <= 9; f++ {
		g := geodesic{f}
		seen := make([]bool, g.points())
		g.eachPoint(func(id int32, _, _, _ int) { seen[id] = true })
		for id, s := range seen {
			if !s {
				t.Fatalf("f=%d: no point %d", f, id)
			}
		}
		degree := make([]int, g.points())
		pairs := map[[2]int32]bool{}
		g.eachEdge(func(p, q int32) {
			k := [2]int32{min(p, q), max(p, q)}
			if pairs[k] || p == q {
				t.Fatalf("f=%d: edge %v twice", f, k)
			}
			pairs[k] = true
			degree[p]++
			degree[q]++
		})
		triangles := 0
		g.eachTriangle(func(p, q, r int32) {
			triangles++
			for _, k := range [][2]int32{{p, q}, {q, r}, {p, r}} {
				if !pairs[[2]int32{min(k[0], k[1]), max(k[0], k[1])}] {
					t.Fatalf("f=%d: side %v of a triangle is no edge", f, k)
				}
			}
		})
		if n := g.points() - len(pairs) + triangles; n != 2 {
			t.Errorf("f=%d: %d points - %d edges + %d triangles = %d, want 2", f, g.points(), len(pairs), triangles, n)
		}
		for id, d := range degree {
			if want := 6; id >= 12 && d != want || id < 12 && d != 5 {
				t.Errorf("f=%d: point %d has %d neighbours", f, id, d)
			}
		}
	}
}

func TestCoordsG(t *testing.T) {
	m, err := CoordsG(600)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := G{Cells: 600, Levels: 2, Ranks: 3}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.CellLon) != 600 || int64(len(m.EdgeLon)) != maps[1].Elems() || int64(len(m.VertexLat)) != maps[4].Dims()[0] {
		t.Fatalf("%d cells, %d edges, %d vertices; maps %v %v", len(m.CellLon), len(m.EdgeLon), len(m.VertexLon), maps[1].Dims(), maps[4].Dims())
	}
	land, err := newTerrain(0)
	if err != nil {
		t.Fatal(err)
	}
	wet := 0
	for i := range m.CellLon {
		if land.at(float64(m.CellLon[i]), float64(m.CellLat[i])) < 0 {
			wet++
		}
	}
	if wet < 540 {
		t.Errorf("only %d of 600 ocean cells lie in the ocean", wet)
	}
}

func TestLandLooksLikeEarth(t *testing.T) {
	land, err := newTerrain(0)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]struct {
		lon, lat float64
		land     bool
	}{
		"Sahara": {10, 22, true}, "Siberia": {100, 62, true}, "Kansas": {262, 39, true}, "Amazon": {300, -5, true}, "Outback": {133, -25, true},
		"south pole": {0, -90, true}, "Greenland": {320, 72, true}, "north pole": {0, 90, false}, "Atlantic": {330, 30, false}, "Pacific": {200, 10, false},
		"Indian Ocean": {80, -20, false}, "Southern Ocean": {200, -55, false}, "date line": {180, 0, false}, "Chukotka": {180, 66, true},
	} {
		if d := land.at(p.lon, p.lat); d > 0 != p.land {
			t.Errorf("%s: %g degrees from the coast, want land %v", name, d, p.land)
		}
	}
	if _, err := parseLand("X\t1 2, 3\n"); err == nil {
		t.Error("half a pair was taken")
	}
	if _, err := parseLand("X\t1 a\n"); err == nil {
		t.Error("a letter was taken")
	}
}

// The largest case of E3SM: ne = 120 with 21,600 ranks.
func TestLargeF(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	maps, err := F{Ne: 120, Levels: 72, Ranks: 21600}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for k, n := range []int64{777602, 777602, 72 * 777602} {
		size += maps[k].MemSize()
		if maps[k].Total() != n {
			t.Errorf("D%d has %d elements, want %d", k+1, maps[k].Total(), n)
		}
	}
	if size > 250<<20 {
		t.Errorf("the maps take %d MiB", size>>20)
	}
}

func BenchmarkGenF(b *testing.B) {
	for _, s := range []struct{ ne, ranks int }{{30, 512}, {120, 21600}} {
		b.Run(fmt.Sprintf("ne%d/%d", s.ne, s.ranks), func(b *testing.B) {
			for b.Loop() {
				if _, err := (F{Ne: s.ne, Levels: 72, Ranks: s.ranks}).Maps(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGenG(b *testing.B) {
	for b.Loop() {
		if _, err := (G{Cells: 235_160, Levels: 60, Ranks: 960}).Maps(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGenI(b *testing.B) {
	for b.Loop() {
		if _, err := (I{Lat: 360, Lon: 720, Ranks: 1344}).Maps(); err != nil {
			b.Fatal(err)
		}
	}
}
