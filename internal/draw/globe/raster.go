package globe

import (
	"context"

	"blobio/internal/base/par"
)

// A pixel of a Raster that shows no point has one of these values.
const (
	Outside int32 = -1 // outside the map
	None    int32 = -2 // no point is near
)

// A Raster maps each pixel, row by row, to the index of its point, or to Outside or None.
type Raster struct {
	W, H int
	Pix  []int32
}

// strip is the number of rows that one goroutine draws at a time.
const strip = 16

// Each fills a raster. begin returns a function that maps a position in radians to the pixel's point. Several goroutines draw
// strips of rows. begin is called for each strip, so that the function may keep state between pixels.
func (v *View) Each(ctx context.Context, w, h int, begin func() func(lon, lat float64) int32) (*Raster, error) {
	r := &Raster{w, h, make([]int32, w*h)}
	err := par.Each(ctx, par.Workers(0), (h+strip-1)/strip, func(_ context.Context, k int) error {
		of := begin()
		for y := k * strip; y < min((k+1)*strip, h); y++ {
			row := r.Pix[y*w : (y+1)*w]
			for x := range row {
				lon, lat, ok := v.Inverse((float64(x)+0.5)/float64(w), (float64(y)+0.5)/float64(h))
				row[x] = Outside
				if ok {
					row[x] = of(lon, lat)
				}
			}
		}
		return nil
	})
	return r, err
}

// Nearest returns a raster in which each pixel shows the nearest point, if it is near compared with the distances between the
// points around it.
func (v *View) Nearest(ctx context.Context, w, h int, t *Tree) (*Raster, error) {
	return v.Each(ctx, w, h, func() func(lon, lat float64) int32 {
		guess, of, reach := 0, -1, 0.0
		return func(lon, lat float64) int32 {
			i, d := t.nearest(onSphere(lon, lat), guess)
			guess = i
			if d > t.even {
				if of != i {
					of, reach = i, t.reach(i)
				}
				if d > reach {
					return None
				}
			}
			return t.id[i]
		}
	})
}
