package globe

import (
	"context"

	"blobio/internal/base/par"
)

// A pixel of a Raster that shows no point is one of these.
const (
	Outside int32 = -1 // it is not part of the map
	None    int32 = -2 // no point is near
)

// A Raster says which point each pixel of a map shows, row by row: its number, or Outside or None.
type Raster struct {
	W, H int
	Pix  []int32
}

// strip is how many rows one goroutine draws at a time.
const strip = 16

// Each fills a raster: of gives what the pixel at a position in radians shows. Rows are given to several goroutines;
// begin makes the function of each strip of them, so that it may keep something between pixels.
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

// Nearest is a raster in which each pixel shows the nearest point, if that is near for how far the points around it are apart.
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
