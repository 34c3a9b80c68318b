package mapplot

import (
	"blobio/internal/base/fault"
	"math"
)

// grid is the layout of a plane of the index space in rows and columns.
type grid struct {
	rows, cols int64
	n          int64 // elements, fewer than rows*cols if the last row is not full
	base       int64 // first element of the plane
	folded     bool  // the map has one dimension, folded into rows
	planes     int64
}

// newGrid chooses the layout. wide is the width of the picture divided by its height, for the folded layout.
func newGrid(dims []int64, plane int64, wide float64) (grid, error) {
	g := grid{rows: 1, cols: 1, planes: 1}
	switch d := len(dims); {
	case d >= 2:
		g.rows, g.cols = dims[d-2], dims[d-1]
		for _, n := range dims[:d-2] {
			g.planes *= n
		}
		g.n = g.rows * g.cols
	case d == 1:
		g.folded, g.n = true, dims[0]
		g.cols = max(1, int64(math.Round(math.Sqrt(float64(g.n)*wide))))
		g.rows = (g.n + g.cols - 1) / g.cols
	default:
		g.n = 1
	}
	if g.n == 0 {
		return g, fault.Usage("map has no elements (dimensions %v)", dims)
	}
	if plane >= g.planes {
		return g, fault.Usage("plane %d of %d", plane, g.planes)
	}
	g.base = plane * g.n
	return g, nil
}

// draw fills a raster; each pixel shows the element at its centre.
func (g *grid) draw(r *raster, o *owners) {
	for y := range r.h {
		row := (2*int64(y) + 1) * g.rows / (2 * int64(r.h))
		for x := range r.w {
			col := int64((2*float64(x) + 1) * float64(g.cols) / (2 * float64(r.w)))
			p := pixOutside
			if i := row*g.cols + min(col, g.cols-1); i < g.n {
				p = o.of(i)
			}
			r.pix[y*r.w+x] = p
		}
	}
}
