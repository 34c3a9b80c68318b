package e3smcases

import "math"

// geodesic is the triangular lattice over the sphere with each side of an icosahedron cut into f parts. Its points are the
// centres of the cells of a Voronoi mesh of 10 f^2 + 2 cells (12 pentagons, the rest hexagons). Lines between neighbours cross
// the 30 f^2 edges of the mesh, and triangles are its 20 f^2 vertices.
//
// A point of a face has the weights (a, b, c) of the face's corners, with a+b+c = f. Points are numbered: first the 12 corners,
// then the inner points of the 30 sides, then the inner points of the 20 faces.
type geodesic struct{ f int }

func (g geodesic) points() int { return 10*g.f*g.f + 2 }

var icoPoints = func() (p [12][3]float64) {
	phi := (1 + math.Sqrt(5)) / 2
	n := math.Sqrt(1 + phi*phi)
	k := 0
	for _, s := range []float64{1, -1} {
		for _, t := range []float64{phi, -phi} {
			p[k], p[k+1], p[k+2] = [3]float64{0, s / n, t / n}, [3]float64{s / n, t / n, 0}, [3]float64{t / n, 0, s / n}
			k += 3
		}
	}
	return p
}()

// ico is the topology of the icosahedron, computed from the distances of its points.
type ico struct {
	faces [20][3]int
	side  [12][12]int8 // number of the side between two corners, -1 if none
	first [20][3]bool  // first[face][k]: face is the first face with the side opposite of its corner k
}

var icosahedron = func() (t ico) {
	near := func(a, b int) bool {
		p, q := icoPoints[a], icoPoints[b]
		return a != b && p[0]*q[0]+p[1]*q[1]+p[2]*q[2] > 0.1 // neighbours have the product 1/sqrt(5), all others are negative
	}
	sides, faces := int8(0), 0
	for a := range 12 {
		for b := range 12 {
			t.side[a][b] = -1
		}
	}
	for a := range 12 {
		for b := a + 1; b < 12; b++ {
			if near(a, b) {
				t.side[a][b], t.side[b][a] = sides, sides
				sides++
			}
		}
	}
	met := map[int8]bool{}
	for a := range 12 {
		for b := a + 1; b < 12; b++ {
			for c := b + 1; c < 12; c++ {
				if !near(a, b) || !near(b, c) || !near(a, c) {
					continue
				}
				t.faces[faces] = [3]int{a, b, c}
				for k, s := range []int8{t.side[b][c], t.side[a][c], t.side[a][b]} {
					t.first[faces][k] = !met[s]
					met[s] = true
				}
				faces++
			}
		}
	}
	return t
}()

// id returns the number of the point with weights f-b-c, b, c of a face's corners.
func (g geodesic) id(face, b, c int) int32 {
	f, a := g.f, g.f-b-c
	v := icosahedron.faces[face] // ascending, so that the points of a side are counted from its lower corner
	switch {
	case a == f:
		return int32(v[0])
	case b == f:
		return int32(v[1])
	case c == f:
		return int32(v[2])
	case c == 0:
		return g.onSide(v[0], v[1], b)
	case b == 0:
		return g.onSide(v[0], v[2], c)
	case a == 0:
		return g.onSide(v[1], v[2], c)
	}
	return int32(12 + 30*(f-1) + face*(f-1)*(f-2)/2 + (b-1)*(f-1) - (b-1)*b/2 + c - 1)
}

// onSide returns the inner point of the side p-q with weight w of q.
func (g geodesic) onSide(p, q, w int) int32 {
	return int32(12 + int(icosahedron.side[p][q])*(g.f-1) + w - 1)
}

// position returns the direction of a point, not normalized.
func (g geodesic) position(face, b, c int) [3]float64 {
	v := icosahedron.faces[face]
	var p [3]float64
	for k := range p {
		p[k] = float64(g.f-b-c)*icoPoints[v[0]][k] + float64(b)*icoPoints[v[1]][k] + float64(c)*icoPoints[v[2]][k]
	}
	return p
}

// eachPoint calls do for all points of all faces. Points on sides occur more than once.
func (g geodesic) eachPoint(do func(id int32, face, b, c int)) {
	for face := range 20 {
		for b := 0; b <= g.f; b++ {
			for c := 0; b+c <= g.f; c++ {
				do(g.id(face, b, c), face, b, c)
			}
		}
	}
}

// eachEdge calls do once for each pair of neighbours.
func (g geodesic) eachEdge(do func(p, q int32)) {
	for face := range 20 {
		first := icosahedron.first[face]
		for b := range g.f {
			for c := 0; b+c < g.f; c++ {
				p, q, r := g.id(face, b, c), g.id(face, b+1, c), g.id(face, b, c+1)
				if c > 0 || first[2] { // if c is 0, p-q is on the side opposite of corner 2
					do(p, q)
				}
				if b > 0 || first[1] {
					do(p, r)
				}
				if b+c+1 < g.f || first[0] {
					do(q, r)
				}
			}
		}
	}
}

// eachTriangle calls do once for each triangle.
func (g geodesic) eachTriangle(do func(p, q, r int32)) {
	for face := range 20 {
		for b := range g.f {
			for c := 0; b+c < g.f; c++ {
				q, r := g.id(face, b+1, c), g.id(face, b, c+1)
				do(g.id(face, b, c), q, r)
				if b+c+1 < g.f {
					do(q, r, g.id(face, b+1, c+1))
				}
			}
		}
	}
}
