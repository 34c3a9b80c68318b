package netcdf4

import (
	"iter"

	"blobio/internal/base/chunks"
	"blobio/internal/base/h5"
)

// A Piece is a chunk of a variable, or the whole variable if it has no chunks.
type Piece struct {
	h5.Extent
	Record  int64 // first record in the piece; -1 for a fixed variable
	Records int64 // number of records in the piece
}

// Stored returns the piece of the file with element at of record rec of variable i, and the element's offset in the piece. ok is
// false if the file has no such piece, because the element was never written.
func (v *View) Stored(i int, rec, at int64) (p Piece, within int64, ok bool, err error) {
	g := &v.geo[i]
	if g.record {
		if rec >= g.dims[0] { // only other variables have that many records
			return p, 0, false, nil
		}
		at += rec * g.per
	}
	return v.stored(i, chunks.Index(at, g.dims))
}

func (v *View) stored(i int, index []int64) (p Piece, within int64, ok bool, err error) {
	g := &v.geo[i]
	p.Record = -1
	if g.record {
		p.Record, p.Records = 0, g.dims[0]
		if g.chunk != nil {
			p.Record = index[0] / g.chunk[0] * g.chunk[0]
			p.Records = min(g.chunk[0], g.dims[0]-p.Record)
		}
	}
	p.Extent, within, ok, err = v.data[i].Stored(index)
	return p, within, ok, err
}

// Big reports whether the elements of a variable are stored big-endian.
func (v *View) Big(i int) bool { return v.data[i].Type().BigEndian() }

// Pieces yields the written pieces of a variable in array order.
func (v *View) Pieces(i int) iter.Seq2[Piece, error] {
	g := &v.geo[i]
	chunks := int64(1)
	for _, n := range g.counts {
		chunks *= n // cannot overflow: at most the number of elements
	}
	if v.data[i].Elems() == 0 {
		chunks = 0
	}
	return func(yield func(Piece, error) bool) {
		for k := range chunks {
			index := make([]int64, len(g.dims))
			if g.chunk != nil {
				index, _ = g.region(k)
			}
			if p, _, ok, err := v.stored(i, index); (ok || err != nil) && !yield(p, err) {
				return
			}
		}
	}
}
