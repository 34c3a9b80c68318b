package netcdf4

import (
	"fmt"

	"blobio/internal/base/chunks"
)

// A Span is a run of elements of one record of a variable, or of a fixed variable.
type Span struct {
	Rec    int64
	Lo, Hi int64
}

// perRecord is the number of elements of a record.
func (v *Var) perRecord(record bool) int64 {
	n := int64(1)
	for i, k := range v.Grid.Full {
		if i > 0 || !record {
			n *= k
		}
	}
	return n
}

// Elem is the size of an element in bytes.
func (v *Var) Elem() int64 { return v.size }

// ChunkBytes is the size of a chunk before compression. It is 0 for contiguous data.
func (v *Var) ChunkBytes() int64 {
	if v.Grid.Chunk == nil {
		return 0
	}
	return v.Grid.Elems() * v.size
}

// run returns chunk i as a run of the flattened array. Chunks are consecutive in that array.
func (v *Var) run(i int64) (lo, hi int64) {
	start, count := v.Grid.Region(chunks.Index(i, v.Grid.Counts()))
	n := int64(1)
	for k := range start {
		lo = lo*v.Grid.Full[k] + start[k]
		n *= count[k]
	}
	return lo, lo + n
}

// Spans returns the elements of chunks first to end-1 as consecutive spans, one for each record. record means that the first
// dimension is the record dimension.
func (v *Var) Spans(first, end int64, record bool) (l []Span) {
	lo, _ := v.run(first)
	_, hi := v.run(end - 1)
	per := v.perRecord(record)
	for lo < hi {
		rec := lo / per
		next := min(hi, (rec+1)*per)
		l = append(l, Span{rec, lo - rec*per, next - rec*per})
		lo = next
	}
	return l
}

// A Packed describes a stored chunk: its length, and the mask of filters that were skipped.
type Packed struct {
	Len  int64
	Mask uint32
}

// Pack encodes chunks first to end-1 and appends them to dst. data holds the elements of the chunks, little endian, in the order
// of Spans. room is scratch space of at least two chunks, or nil.
func (v *Var) Pack(dst, data, room []byte, first, end int64) (out []byte, l []Packed, err error) {
	n := v.ChunkBytes()
	if int64(len(room)) < 2*n {
		room = make([]byte, 2*n)
	}
	for i := first; i < end; i++ {
		lo, hi := v.run(i)
		k := (hi - lo) * v.size
		chunk := data[:k]
		data = data[k:]
		if k < n { // the rest of the chunk lies outside the array
			part := chunk
			chunk = room[:n]
			copy(chunk, part)
			for at := k; at < n; at += v.size {
				copy(chunk[at:], v.fill)
			}
		}
		from := len(dst)
		var mask uint32
		if dst, mask, err = v.file.filter.Encode(dst, chunk, room[n:2*n], v.size); err != nil {
			return dst, l, fmt.Errorf("chunk %d: %w", i, err)
		}
		l = append(l, Packed{int64(len(dst) - from), mask})
	}
	return dst, l, nil
}
