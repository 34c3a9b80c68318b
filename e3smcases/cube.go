package e3smcases

import "math"

// cube is HOMME's cubed sphere of 6 ne x ne spectral elements with 4 x 4 Gauss-Lobatto points each.
//
// Faces 0 to 3 are the belt, eastward from the face around 0E. Face 4 is around the south pole and face 5 around the north pole.
// Element (i, j) of face f has the global number f*ne*ne + j*ne + i. A point on the border of elements belongs to the element
// with the lowest number. Columns are numbered element by element in this order, and row by row (i fastest) within an element,
// over the points that belong to it (modules cube_mod, dof_mod).
//
// Faces are numbered first, so a point on the border of two faces belongs to the lower face. Face 0 thus has its whole border. Faces 1 and 2 lack the west side, face 3 lacks west and east, and faces 4 and 5 lack all sides.
type cube struct{ ne int }

const np = 4 // points along the side of an element

// lacks lists the sides (west, east, south, north) that belong to a lower face.
var lacks = [6]struct{ w, e, s, n bool }{
	{}, {w: true}, {w: true}, {w: true, e: true},
	{true, true, true, true}, {true, true, true, true},
}

func (c cube) elems() int { return 6 * c.ne * c.ne }

// cols returns the number of columns, 54 ne^2 + 2.
func (c cube) cols() int64 { return 54*int64(c.ne)*int64(c.ne) + 2 }

// at splits the global number of an element.
func (c cube) at(e int) (f, i, j int) {
	f = e / (c.ne * c.ne)
	e -= f * c.ne * c.ne
	return f, e % c.ne, e / c.ne
}

// own returns the points [i0, i1) x [j0, j1) that belong to element e.
func (c cube) own(e int) (i0, i1, j0, j1 int) {
	f, i, j := c.at(e)
	i1, j1 = np, np
	if i > 0 || lacks[f].w {
		i0 = 1
	}
	if i == c.ne-1 && lacks[f].e {
		i1 = np - 1
	}
	if j > 0 || lacks[f].s {
		j0 = 1
	}
	if j == c.ne-1 && lacks[f].n {
		j1 = np - 1
	}
	return i0, i1, j0, j1
}

// count returns the number of columns that belong to element e.
func (c cube) count(e int) int64 {
	i0, i1, j0, j1 := c.own(e)
	return int64(i1-i0) * int64(j1-j0)
}

// curve returns the elements in the order of the curve over all faces. The curve visits the faces in the order 0 1 5 3 4 2. Each
// face is rotated so that the curve is continuous.
func (c cube) curve() ([]int32, error) {
	order, err := faceCurve(c.ne)
	if err != nil {
		return nil, err
	}
	n := c.ne
	list := make([]int32, c.elems())
	for k, f := range []int{0, 1, 5, 3, 4, 2} {
		for j := range n {
			for i := range n {
				x, y := i, j
				switch f {
				case 0, 1:
					y = n - 1 - j
				case 5:
					x, y = n-1-i, n-1-j
				case 3:
					x, y = n-1-j, i
				}
				list[k*n*n+int(order[x*n+y])] = int32(f*n*n + j*n + i)
			}
		}
	}
	return list, nil
}

// partition returns the rank of each element. The curve is cut into equal parts; the first ranks get one more element. If there
// are more ranks than elements, the last ranks get none.
func (c cube) partition(ranks int) ([]int32, error) {
	list, err := c.curve()
	if err != nil {
		return nil, err
	}
	each, extra := len(list)/ranks, len(list)%ranks
	owner := make([]int32, len(list))
	rank, left := 0, 0
	for _, e := range list {
		for left == 0 {
			left = each
			if rank < extra {
				left++
			}
			rank++
		}
		owner[e] = int32(rank - 1)
		left--
	}
	return owner, nil
}

// gll holds the 4 Gauss-Lobatto points on [-1, 1].
var gll = [np]float64{-1, -1 / math.Sqrt(5), 1 / math.Sqrt(5), 1}

// coords returns longitude (0 to 360) and latitude of each column, in degrees. Elements are equiangular; the points within are
// Gauss-Lobatto points.
func (c cube) coords() (lon, lat []float64) {
	lon, lat = make([]float64, 0, c.cols()), make([]float64, 0, c.cols())
	side := make([]float64, c.ne*np) // for each point of a row, the tangent of its angle on the face
	for i := range side {
		x := (float64(i/np) + (1+gll[i%np])/2) / float64(c.ne)
		side[i] = math.Tan((x - 0.5) * math.Pi / 2)
	}
	for e := range c.elems() {
		f, ie, je := c.at(e)
		i0, i1, j0, j1 := c.own(e)
		for j := j0; j < j1; j++ {
			for i := i0; i < i1; i++ {
				lo, la := sphere(facePoint(f, side[ie*np+i], side[je*np+j]))
				lon, lat = append(lon, lo), append(lat, la)
			}
		}
	}
	return lon, lat
}

// facePoint returns the point (a, b) of face f, both from -1 to 1, on the cube of side 2.
func facePoint(f int, a, b float64) (x, y, z float64) {
	switch f {
	case 0:
		return 1, a, b
	case 1:
		return -a, 1, b
	case 2:
		return -1, -a, b
	case 3:
		return a, -1, b
	case 4:
		return b, a, -1
	}
	return -b, a, 1
}

// sphere returns longitude (0 to 360) and latitude of a direction, in degrees.
func sphere(x, y, z float64) (lon, lat float64) {
	const deg = 180 / math.Pi
	lon = math.Atan2(y, x) * deg
	if lon < 0 {
		lon += 360
	}
	return lon, math.Atan2(z, math.Hypot(x, y)) * deg
}

// CoordsF returns longitude (0 to 360) and latitude, in degrees, of the
// 54 ne^2 + 2 columns of the F case, in the order of the ncol dimension.
func CoordsF(ne int) (lon, lat []float64) {
	if ne < 1 {
		return nil, nil
	}
	return cube{ne}.coords()
}

// sideOf returns the number of elements along a side of a cube face of the F case with n columns. ok is false if no F case has n
// columns.
func sideOf(n int64) (ne int, ok bool) {
	ne = int(math.Round(math.Sqrt(float64(max(n-2, 0)) / 54)))
	return ne, ne > 0 && cube{ne}.cols() == n
}
