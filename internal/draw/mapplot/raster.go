package mapplot

import (
	"image"
	"image/color"

	"blobio/decomp"
	"blobio/internal/draw/chart"
	"blobio/internal/draw/globe"
)

// A pixel of a raster is a rank or one of these values.
const (
	pixOutside         = globe.Outside
	pixNone            = globe.None
	pixUncovered int32 = -3 // an element without an owner
)

// raster is a picture of ranks.
type raster struct {
	w, h int
	pix  []int32
}

func newRaster(w, h int) *raster {
	return &raster{w: w, h: h, pix: make([]int32, w*h)}
}

// image colours a raster.
func (r *raster) image(colors []color.RGBA, borders bool) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, r.w, r.h))
	for y := range r.h {
		for x := range r.w {
			img.SetRGBA(x, y, r.color(x, y, colors, borders))
		}
	}
	return img
}

func (r *raster) color(x, y int, colors []color.RGBA, borders bool) color.RGBA {
	p := r.pix[y*r.w+x]
	c := chart.Paper
	switch {
	case p >= 0:
		c = colors[p]
	case p == pixNone:
		c = colorNone
	case p == pixUncovered:
		c = colorUncovered
	}
	if !borders || p == pixOutside || p == pixNone {
		return c
	}
	// draw one pixel on one side of each border
	if x+1 < r.w && differ(p, r.pix[y*r.w+x+1]) || y+1 < r.h && differ(p, r.pix[(y+1)*r.w+x]) {
		return border(c)
	}
	return c
}

func differ(a, b int32) bool { return a != b && b != pixOutside }

// calm reports whether areas are large enough for borders: few pixels have a neighbour of another
// rank.
func (r *raster) calm() bool {
	n, edges := 0, 0
	for y := range r.h - 1 {
		for x := range r.w - 1 {
			i := y*r.w + x
			if r.pix[i] < 0 {
				continue
			}
			n++
			if r.pix[i] != r.pix[i+1] || r.pix[i] != r.pix[i+r.w] {
				edges++
			}
		}
	}
	return edges*6 < n
}

// maxOwners is the size of the largest plane, in elements, whose owners are all listed.
const maxOwners = 1 << 24

// owners finds the ranks of elements in a plane.
type owners struct {
	ix   *decomp.Index
	base int64
	all  []int32 // owners of all elements; nil if there are too many elements
}

func newOwners(ix *decomp.Index, base, n int64) *owners {
	o := &owners{ix: ix, base: base}
	if n > maxOwners {
		return o
	}
	o.all = make([]int32, n)
	for i := range o.all {
		o.all[i] = pixUncovered
	}
	for q := range ix.Range(base, base+n) {
		for k := range q.Len {
			o.all[q.Off-base+k] = int32(q.Rank)
		}
	}
	return o
}

func (o *owners) of(i int64) int32 {
	if o.all != nil {
		return o.all[i]
	}
	q, ok := o.ix.At(o.base + i)
	if !ok {
		return pixUncovered
	}
	return int32(q.Rank)
}
