package fieldplot

import (
	"context"
	"errors"
	"math"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/draw/globe"
)

// errNowhere means that coordinates are not positions on the globe.
var errNowhere = errors.New("coordinates are not positions on the globe")

// maxPoints is the maximum number of points of a tree. Each needs 37 bytes during construction of the raster.
const maxPoints = 1 << 21

// A grid is shared by all maps with the same positions and size.
type grid struct {
	view   *globe.View
	raster *globe.Raster
	order  []int32 // pixels that show an element, ordered by element
	places int64
	cells  bool // true: made from axes, each pixel shows its cell; false: each pixel shows the nearest element
}

// bytes returns the memory size of a grid.
func (g *grid) bytes() int64 { return int64(4*len(g.raster.Pix) + 4*len(g.order)) }

// newGrid reads the coordinates and makes a raster of the given width in pixels. It returns errNowhere for coordinates that are
// not positions.
func newGrid(ctx context.Context, s *site, plate bool, wide, scale int) (*grid, error) {
	g := &grid{places: s.size()}
	if g.places > math.MaxInt32 {
		return nil, fault.Usage("%d positions, want at most %d", g.places, math.MaxInt32)
	}
	var err error
	if s.axes {
		err = g.ofAxes(ctx, s, plate, wide, scale)
	} else {
		err = g.ofPoints(ctx, s, plate, wide, scale)
	}
	if err != nil {
		return nil, err
	}
	for i, e := range g.raster.Pix {
		if e >= 0 {
			g.order = append(g.order, int32(i))
		}
	}
	slices.SortFunc(g.order, func(a, b int32) int { return int(g.raster.Pix[a]) - int(g.raster.Pix[b]) })
	return g, nil
}

// height returns the height of a view's raster, in pixels.
func height(v *globe.View, wide, scale int) int {
	return scale * max(1, int(math.Round(float64(wide/scale)/v.Wide)))
}

// ofAxes makes the grid of two axes.
func (g *grid) ofAxes(ctx context.Context, s *site, plate bool, wide, scale int) error {
	values, err := s.axisValues(ctx)
	if err != nil {
		return err
	}
	lat, okLat := newTrack(values[0], false)
	lon, okLon := newTrack(values[1], true)
	if !okLat || !okLon {
		return errNowhere
	}
	g.cells = true
	g.view = globe.NewView(lon.spread(), lat.spread(), plate)
	nlon := int32(len(values[1]))
	byLat, byLon := nlon, int32(1) // strides of the two axes in the variable
	if s.dims[0] != s.data.axisDim(s.lat) {
		byLat, byLon = 1, int32(len(values[0]))
	}
	g.raster, err = g.view.Each(ctx, wide, height(g.view, wide, scale), func() func(x, y float64) int32 {
		last, row := math.NaN(), -1
		return func(x, y float64) int32 {
			if y != last {
				last, row = y, lat.find(y*180/math.Pi)
			}
			col := -1
			if row >= 0 {
				col = lon.find(x * 180 / math.Pi)
			}
			if col < 0 {
				return globe.None
			}
			return int32(row)*byLat + int32(col)*byLon
		}
	})
	return err
}

// axisValues returns the latitudes and longitudes of two axes, in degrees.
func (s *site) axisValues(ctx context.Context) (values [2][]float64, err error) {
	for i, name := range []string{s.lat, s.lon} {
		n := s.lens[slices.Index(s.dims, s.data.axisDim(name))]
		if n > maxAxis {
			return values, fault.Usage("coordinate %s has %d elements, want at most %d", name, n, maxAxis)
		}
		values[i] = make([]float64, n)
		if err := s.data.coordinate(ctx, name, nil, values[i]); err != nil {
			return values, err
		}
		for k, x := range values[i] {
			if s.radians {
				x *= 180 / math.Pi
			}
			if values[i][k] = x; !(math.Abs(x) <= [2]float64{90.01, 720}[i]) {
				return values, errNowhere
			}
		}
	}
	return values, nil
}

// ofPoints makes the grid of points with individual coordinates.
func (g *grid) ofPoints(ctx context.Context, s *site, plate bool, wide, scale int) error {
	pts, err := s.points(ctx)
	if err != nil {
		return err
	}
	g.view = globe.NewView(pts.lon, pts.lat, plate)
	tree, err := globe.NewTree(ctx, pts.lon, pts.lat)
	if err != nil {
		return err
	}
	g.raster, err = g.view.Nearest(ctx, wide, height(g.view, wide, scale), tree)
	if err != nil {
		return err
	}
	if pts.id != nil {
		for i, k := range g.raster.Pix {
			if k >= 0 {
				g.raster.Pix[i] = pts.id[k]
			}
		}
	}
	return nil
}

func (d *Data) axisDim(name string) string {
	s := d.Reader.Schema()
	id, _ := s.VarID(name)
	return s.Dims()[s.Vars()[id].Dims[0]].Name
}
