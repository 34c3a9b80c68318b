package globe

import (
	"context"
	"math"
	"slices"
)

type vec [3]float64

// onSphere returns the unit vector of a position in radians.
func onSphere(lon, lat float64) vec {
	return vec{math.Cos(lat) * math.Cos(lon), math.Cos(lat) * math.Sin(lon), math.Sin(lat)}
}

func dist2(a, b vec) float64 {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return x*x + y*y + z*z
}

// A Tree is a k-d tree of points on the sphere, stored in place. The middle of each sublist divides it along its widest axis. The
// tree takes 29 bytes per point.
type Tree struct {
	at   []vec
	id   []int32
	axis []uint8
	even float64 // squared distance between neighbours if the points were spread evenly
}

// neighbours is the number of near points that determine the local distance between points.
const neighbours = 5

// NewTree makes a tree of at least one point, at longitudes and latitudes in degrees. It fails only if ctx is done.
func NewTree(ctx context.Context, lon, lat []float32) (*Tree, error) {
	n := len(lon)
	t := &Tree{at: make([]vec, n), id: make([]int32, n), axis: make([]uint8, n), even: 1.3 * 4 * math.Pi / float64(n)}
	for i := range lon {
		t.at[i] = onSphere(float64(lon[i])*math.Pi/180, float64(lat[i])*math.Pi/180)
		t.id[i] = int32(i)
	}
	return t, t.build(ctx, 0, n)
}

// reach returns the squared distance up to which a pixel belongs to point i: the pixel must be in the polygon around the point,
// and not far out if the polygon is open on one side. Near the poles of a longitude-latitude grid, points are much closer to
// neighbours in their row than to the next row. So reach is at least the distance between evenly spread points.
func (t *Tree) reach(i int) float64 {
	var best [neighbours + 1]float64
	for k := range best {
		best[k] = math.Inf(1)
	}
	t.nearestFew(0, len(t.at), t.at[i], best[:])
	return max(best[neighbours]*1.1, t.even)
}

func (t *Tree) build(ctx context.Context, lo, hi int) error {
	for hi-lo > 1 {
		if hi-lo > 1<<16 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		box := [2]vec{t.at[lo], t.at[lo]}
		for _, p := range t.at[lo:hi] {
			for k := range 3 {
				box[0][k], box[1][k] = min(box[0][k], p[k]), max(box[1][k], p[k])
			}
		}
		axis := 0
		for k := 1; k < 3; k++ {
			if box[1][k]-box[0][k] > box[1][axis]-box[0][axis] {
				axis = k
			}
		}
		mid := (lo + hi) / 2
		t.split(lo, hi, mid, axis)
		t.axis[mid] = uint8(axis)
		if err := t.build(ctx, lo, mid); err != nil {
			return err
		}
		lo = mid + 1
	}
	return nil
}

// split partitions the points so that the point at mid is in its sorted position.
func (t *Tree) split(lo, hi, mid, axis int) {
	for hi-lo > 1 {
		pivot := t.at[(lo+hi)/2][axis]
		i, j := lo, hi-1
		for i <= j {
			for t.at[i][axis] < pivot {
				i++
			}
			for t.at[j][axis] > pivot {
				j--
			}
			if i <= j {
				t.at[i], t.at[j] = t.at[j], t.at[i]
				t.id[i], t.id[j] = t.id[j], t.id[i]
				i++
				j--
			}
		}
		switch {
		case mid <= j:
			hi = j + 1
		case mid >= i:
			lo = i
		default:
			return
		}
	}
}

// nearest returns the tree index of the point nearest to p; guess is a point that may be near.
func (t *Tree) nearest(p vec, guess int) (int, float64) {
	best, d := guess, dist2(p, t.at[guess])
	t.search(0, len(t.at), p, &best, &d)
	return best, d
}

func (t *Tree) search(lo, hi int, p vec, best *int, d *float64) {
	for lo < hi {
		mid := (lo + hi) / 2
		if e := dist2(p, t.at[mid]); e < *d {
			*best, *d = mid, e
		}
		s := p[t.axis[mid]] - t.at[mid][t.axis[mid]]
		if s < 0 {
			t.search(lo, mid, p, best, d)
			lo = mid + 1
		} else {
			t.search(mid+1, hi, p, best, d)
			hi = mid
		}
		if s*s >= *d {
			return
		}
	}
}

// nearestFew fills best with the smallest squared distances to p, in ascending order.
func (t *Tree) nearestFew(lo, hi int, p vec, best []float64) {
	for lo < hi {
		mid := (lo + hi) / 2
		if e := dist2(p, t.at[mid]); e < best[len(best)-1] {
			k, _ := slices.BinarySearch(best, e)
			copy(best[k+1:], best[k:])
			best[k] = e
		}
		s := p[t.axis[mid]] - t.at[mid][t.axis[mid]]
		if s < 0 {
			t.nearestFew(lo, mid, p, best)
			lo = mid + 1
		} else {
			t.nearestFew(mid+1, hi, p, best)
			hi = mid
		}
		if s*s >= best[len(best)-1] {
			return
		}
	}
}
