package cello

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"blobio/internal/amr"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// If a group was written from a template, the reader compares the group's bytes with the template and extracts the values. This
// is faster than decoding header messages one by one: 10^5 blocks have millions of messages. Files of other programs are decoded
// message by message.

// rawAttrs holds the little-endian values of a block's standard attributes, each of the standard type and length.
type rawAttrs [numBlockAttrs][]byte

// readTemplate returns the template of groups with the standard attributes and the datasets of the schema, or nil if no template
// fits.
func readTemplate(enzo amr.Type, schema []schemaCol) *h5.Template {
	t, err := h5.NewTemplate(func(g *h5.Builder) {
		for _, a := range attrShapes(enzo, nil) {
			g.Attr(a.name, a.typ, []int64{a.n}, make([]int8, a.n))
		}
		for i := range schema {
			g.Dataset(schema[i].name, schema[i].typ, schema[i].dims, nil)
		}
	})
	if err != nil {
		return nil
	}
	return t
}

func stampAttrs(t *h5.Template, b []byte) (r rawAttrs) {
	for i := range r {
		r[i] = t.Attr(b, i)
	}
	return r
}

// decodedAttrs returns the values of attributes whose shapes were checked.
func decodedAttrs(at [numBlockAttrs]*h5.Attr) (r rawAttrs, err error) {
	for i, a := range at {
		if r[i], err = rawOf(a); err != nil {
			return r, err
		}
	}
	return r, nil
}

func rawOf(a *h5.Attr) ([]byte, error) {
	raw, err := a.Raw()
	if err == nil && a.Type.BigEndian() {
		raw = bytes.Clone(raw)
		elem.Swap(raw, raw, int(a.Type.Size()))
	}
	return raw, err
}

func (r *rawAttrs) ints(i int) []int64 {
	d := &blockAttrs[i]
	out := make([]int64, d.n)
	for k := range out {
		if d.kind == kindInt64 {
			out[k] = int64(binary.LittleEndian.Uint64(r[i][8*k:]))
		} else {
			out[k] = int64(int32(binary.LittleEndian.Uint32(r[i][4*k:])))
		}
	}
	return out
}

func (r *rawAttrs) floats(i int) (out [3]float64) {
	d := &blockAttrs[i]
	for k := range d.n {
		if len(r[i]) == 4*d.n {
			out[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(r[i][4*k:])))
		} else {
			out[k] = math.Float64frombits(binary.LittleEndian.Uint64(r[i][8*k:]))
		}
	}
	return out
}

// value returns attribute i in the form in which Block.Attrs stores it.
func (r *rawAttrs) value(i int, enzo amr.Type) any {
	d := &blockAttrs[i]
	switch d.typ(enzo) {
	case h5.Int32:
		out := make([]int32, d.n)
		for k, v := range r.ints(i) {
			out[k] = int32(v)
		}
		return out
	case h5.Int64:
		return r.ints(i)
	case h5.Float32:
		out := make([]float32, d.n)
		for k := range out {
			out[k] = math.Float32frombits(binary.LittleEndian.Uint32(r[i][4*k:]))
		}
		return out
	}
	v := r.floats(i)
	return append([]float64(nil), v[:d.n]...)
}

// window reads many groups of a file. It needs few reads if the groups are adjacent.
type window struct {
	r   poolReader
	t   *h5.Template
	end int64 // size of the file
	b   []byte
	off int64
}

const windowBytes = 1 << 20

// group returns the bytes of the group at addr. The result is false if they do not match the template. ahead is the number of
// groups that the caller will read from the file after this one.
func (w *window) group(addr int64, ahead int) ([]byte, bool, error) {
	if w.t == nil || addr < 0 {
		return nil, false, nil
	}
	n := w.t.Len()
	if addr < w.off || addr+n > w.off+int64(len(w.b)) {
		size := min(max(n, min(n*int64(ahead+1), windowBytes)), w.end-addr)
		if size < n {
			return nil, false, nil
		}
		if int64(cap(w.b)) < size {
			w.b = make([]byte, size)
		}
		w.b, w.off = w.b[:size], addr
		if k, err := w.r.ReadAt(w.b, addr); int64(k) < size {
			w.b = w.b[:0]
			if err == nil || errors.Is(err, io.EOF) {
				err = fault.At(w.r.name, addr+int64(k), "", ErrTruncated, "%d of %d bytes", k, size)
			}
			return nil, false, err
		}
	}
	b := w.b[addr-w.off:][:n]
	if !w.t.Match(b, addr) {
		w.t = nil // after one mismatch, other groups of the file will hardly match
		return nil, false, nil
	}
	return b, true, nil
}

// stamped sets the fields of b from a stamp. It returns false if the datasets do not match the schema.
func (s *schema) stamped(b *scanned, stamp []byte, size int64) bool {
	t := s.template
	r := stampAttrs(t, stamp)
	x := r.ints(attrIndex)
	data := make([]extent, len(s.cols))
	for i := range data {
		d, off := t.Dataset(stamp, i)
		k := &s.cols[i]
		n := int64(1)
		for a := range k.dims {
			if k.field && d[a] != k.dims[a] {
				return false
			}
			n *= d[a]
		}
		if bytes := n * k.typ.Size(); off > size-bytes {
			return false
		}
		// A dataset with address -1 is contiguous.
		data[i] = extent{off: off, elems: n, addr: -1}
	}
	b.index, b.known = amr.Index{int32(x[0]), int32(x[1]), int32(x[2])}, true
	b.order, b.count = r.ints(attrIndexOrder)[0], r.ints(attrCountOrder)[0]
	b.data = data
	return true
}
