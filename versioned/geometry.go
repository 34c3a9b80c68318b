package versioned

import (
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"fmt"
)

// geometry of one generation of an array: its capacity, cut into equal segments of whole chunks, one for each
// rank. Arrays that are made anew, and those that are opened again, start a new one.
type geometry struct {
	ID       int   `json:"id"`
	Capacity int64 `json:"capacity"` // elements
	Seg      int64 `json:"segment"`  // elements of a segment, whole chunks; the last ones may be empty
	Segs     int   `json:"segments"`

	// Order is the byte order of the elements, where it is not that of the record: an array may be opened by another kind of machine than the one
	// that made it.
	Order string `json:"byte_order,omitempty"`
}

// hostOrder is the byte order of this machine, as a record has it.
func hostOrder() string {
	if elem.HostBig {
		return "big"
	}
	return "little"
}

func newGeometry(id int, capacity int64, segs int, chunkElems int64) geometry {
	chunks := (capacity + chunkElems - 1) / chunkElems
	per := max((chunks+int64(segs)-1)/int64(segs), 1)
	return geometry{ID: id, Capacity: capacity, Seg: per * chunkElems, Segs: segs}
}

// check refuses what no reader takes.
func (g *geometry) check(s *Spec) error {
	if g.Seg/s.chunkElems() > maxSegChunks {
		return fault.Usage("array %s: %d elements on %d ranks are more than %d chunks of %d bytes on each: take larger chunks", s.Name, g.Capacity, g.Segs, maxSegChunks, s.Chunk)
	}
	return nil
}

// segLen is the number of elements that segment s has room for.
func (g *geometry) segLen(s int) int64 {
	return min(max(g.Capacity-int64(s)*g.Seg, 0), g.Seg)
}

// pieces cuts a run of elements at segments: f gets the segment, the first element in it, the length, and
// where it is in the run.
func (g *geometry) pieces(off, n int64, f func(seg int, at, n, pos int64) error) error {
	pos := int64(0)
	for n > 0 {
		s := off / g.Seg
		at := off - s*g.Seg
		k := min(n, g.Seg-at)
		if err := f(int(s), at, k, pos); err != nil {
			return err
		}
		off, n, pos = off+k, n-k, pos+k
	}
	return nil
}

// runs calls f for each run of consecutive elements of the box [lo, hi) in row-major order: its first element in the
// flattened array, its length, and its first element in the flattened box. It stops at the first error.
func runs(shape, lo, hi []int64, f func(off, n, at int64) error) error {
	nd := len(shape)
	// The slowest dimensions from which on the box is whole form one run.
	k := nd - 1
	n := hi[k] - lo[k]
	for k > 0 && lo[k] == 0 && hi[k] == shape[k] {
		k--
		n *= hi[k] - lo[k]
	}
	if n == 0 {
		return nil
	}
	stride := [maxDims]int64{}
	s := int64(1)
	for d := nd - 1; d >= 0; d-- {
		stride[d] = s
		s *= shape[d]
	}
	idx := [maxDims]int64{}
	off := int64(0)
	for d := range nd {
		if lo[d] >= hi[d] {
			return nil
		}
		idx[d] = lo[d]
		off += lo[d] * stride[d]
	}
	at := int64(0)
	for {
		if err := f(off, n, at); err != nil {
			return err
		}
		at += n
		d := k - 1
		for ; d >= 0; d-- {
			idx[d]++
			off += stride[d]
			if idx[d] < hi[d] {
				break
			}
			off -= (hi[d] - lo[d]) * stride[d]
			idx[d] = lo[d]
		}
		if d < 0 {
			return nil
		}
	}
}

// checkBox checks [lo, hi) against a shape and the number of elements of the buffer.
func checkBox(name string, shape, lo, hi []int64, have int64) error {
	if len(lo) != len(shape) || len(hi) != len(shape) {
		return fault.Usage("array %s: range of %d and %d dimensions, it has %d", name, len(lo), len(hi), len(shape))
	}
	n := int64(1)
	for d := range shape {
		if lo[d] < 0 || hi[d] < lo[d] || hi[d] > shape[d] {
			return fmt.Errorf("array %s: dimension %d: [%d, %d), it has %d: %w", name, d, lo[d], hi[d], shape[d], fault.ErrRange)
		}
		n *= hi[d] - lo[d]
	}
	if n != have {
		return fault.Usage("array %s: buffer of %d elements for a range of %d", name, have, n)
	}
	return nil
}
