package h5

import (
	"blobio/internal/base/fault"
	"io"
	"slices"
)

// Dataset is an open dataset.
type Dataset struct {
	*Object
	typ     Type
	space   space
	lay     layout
	filters filterChain
	fill    []byte      // one element; nil: zeros
	index   *chunkIndex // index of a readable chunked dataset
	noRead  error       // reason why data cannot be read
}

// Dataset returns the object as a dataset, or ErrUsage. An unsupported layout, filter or datatype fails only when data are read.
func (o *Object) Dataset() (*Dataset, error) {
	f := o.f
	if o.Kind() != KindDataset {
		return nil, o.not(KindDataset)
	}
	d := &Dataset{Object: o}
	tm, sm := o.h.find(msgDatatype), o.h.find(msgDataspace)
	if tm == nil || sm == nil {
		return nil, f.errAt(f.base+o.h.addr, "dataset", fault.ErrCorrupt, "%s has no datatype or dataspace message", o.path)
	}
	tm, err := f.resolve(tm)
	if err != nil {
		return nil, err
	}
	c := f.over(tm.data, tm.off)
	if d.typ = c.decodeType(); c.err != nil {
		return nil, c.err
	}
	if sm, err = f.resolve(sm); err != nil {
		return nil, err
	}
	c = f.over(sm.data, sm.off)
	if d.space = c.decodeSpace(); c.err != nil {
		return nil, c.err
	}
	if size := d.typ.Size(); size > 0 && d.space.count() > (1<<63-1)/size {
		return nil, f.errAt(sm.off, "dataspace", fault.ErrCorrupt, "%v elements of %d bytes, want fewer than 2^63 bytes", d.space.dims, size)
	}
	if d.lay, err = f.decodeLayout(o.h.find(msgLayout)); err != nil {
		return nil, err
	}
	if m := o.h.find(msgFilters); m != nil {
		if m, err = f.resolve(m); err != nil {
			return nil, err
		}
		if d.filters, err = f.decodeFilters(m); err != nil {
			return nil, err
		}
	}
	if err := d.decodeFill(); err != nil {
		return nil, err
	}
	return d, d.prepare()
}

// prepare checks that type, shape and layout match. It also checks whether data can be read.
func (d *Dataset) prepare() error {
	f, l := d.f, &d.lay
	need := d.space.count() * d.typ.Size()
	switch l.storage {
	case Compact:
		if int64(len(l.data)) < need {
			return f.errAt(l.off, "compact data", fault.ErrCorrupt, "%d bytes, want %d", len(l.data), need)
		}
	case Contiguous:
		if l.addr != undef && l.size >= 0 && l.size < need {
			return f.errAt(l.off, "contiguous data", fault.ErrCorrupt, "%d bytes, want %d", l.size, need)
		}
		if m := d.h.find(msgExternal); m != nil {
			d.noRead = f.errAt(m.off, "layout", fault.ErrUnsupported, "data in external files are not supported")
		}
	case Chunked:
		if len(l.chunk) != len(d.space.dims) || l.elem != d.typ.Size() {
			return f.errAt(l.off, "chunk shape", fault.ErrCorrupt, "%v of %d bytes, want rank %d and %d bytes", l.chunk, l.elem, len(d.space.dims), d.typ.Size())
		}
		if name, bad := d.filters.unknown(); bad {
			d.noRead = f.errAt(d.h.find(msgFilters).off, "filter pipeline", fault.ErrUnsupported, "unsupported filter %s", name)
			return nil
		}
		d.filters.width = l.elem
		d.index = newChunkIndex(d)
	default:
		d.noRead = f.errAt(l.off, "layout class", fault.ErrUnsupported, "unsupported %s storage", l.storage)
	}
	return nil
}

// decodeFill decodes the fill value message, version 1 to 3, or the old fill value message.
func (d *Dataset) decodeFill() error {
	m := d.h.find(msgFill)
	old := m == nil
	if old {
		m = d.h.find(msgFillOld)
	}
	if m == nil {
		return nil
	}
	m, err := d.f.resolve(m)
	if err != nil {
		return err
	}
	c := d.f.over(m.data, m.off)
	has := true
	if !old {
		switch version := c.u8("fill value version"); version {
		case 1, 2:
			c.skip(2, "fill value")
			has = c.u8("fill value defined") != 0 || version == 1
		case 3:
			has = c.u8("fill value flags")&0x20 != 0
		default:
			c.fail(m.off, "fill value version", fault.ErrUnsupported, "%d, want 1 to 3", version)
		}
	}
	if has && c.err == nil && c.left() >= 4 {
		n := c.u32("fill value size")
		b := c.take(int64(n), "fill value")
		if int64(n) == d.typ.Size() && d.typ.Class() != ClassVlen {
			d.fill = b
		}
	}
	return c.err
}

// Type returns the type of the elements in the file.
func (d *Dataset) Type() Type { return d.typ }

// Dims returns the shape in elements, slowest dimension first; empty for a scalar. The caller owns the slice.
func (d *Dataset) Dims() []int64 { return slices.Clone(d.space.dims) }

// Rank returns the number of dimensions.
func (d *Dataset) Rank() int { return len(d.space.dims) }

// SameShape reports whether the shape equals dims, without a copy.
func (d *Dataset) SameShape(dims []int64) bool { return slices.Equal(d.space.dims, dims) }

// MaxDims returns the maximum shape; Unlimited for a dimension without limit.
func (d *Dataset) MaxDims() []int64 {
	if d.space.max == nil {
		return d.Dims()
	}
	return slices.Clone(d.space.max)
}

// Elems returns the number of elements.
func (d *Dataset) Elems() int64 { return d.space.count() }

// Bytes returns the size of the data in bytes, before any filter.
func (d *Dataset) Bytes() int64 { return d.space.count() * d.typ.Size() }

// Storage returns the layout of the data.
func (d *Dataset) Storage() Storage { return d.lay.storage }

// ChunkDims returns the shape of a chunk, or nil if the storage is not Chunked.
func (d *Dataset) ChunkDims() []int64 { return slices.Clone(d.lay.chunk) }

// Null reports whether the dataspace has neither elements nor a shape.
func (d *Dataset) Null() bool { return d.space.null }

// Offset returns the absolute file offset of contiguous data. ok is false for other storage, and if no data were written or there
// are no elements.
func (d *Dataset) Offset() (off int64, ok bool) {
	if d.lay.storage != Contiguous || d.lay.addr == undef || d.noRead != nil {
		return 0, false
	}
	return d.f.base + d.lay.addr, true
}

// ReadAt reads raw bytes of contiguous or compact data, from byte off of the row-major array. It returns io.EOF if p extends
// beyond the data. Chunked data are ErrUnsupported: use ReadRaw.
func (d *Dataset) ReadAt(p []byte, off int64) (int, error) {
	if d.noRead != nil {
		return 0, d.noRead
	}
	if d.lay.storage == Chunked {
		return 0, d.f.errAt(d.lay.off, "layout", fault.ErrUnsupported, "ReadAt does not support chunked data")
	}
	if off < 0 {
		return 0, fault.Class(fault.ErrUsage, "offset %d, want >= 0", off)
	}
	n := max(0, min(int64(len(p)), d.Bytes()-off))
	if err := d.readExtent(p[:n], off); err != nil {
		return 0, err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// readExtent fills p with the bytes of the array from offset off. All these bytes must be in the array.
func (d *Dataset) readExtent(p []byte, off int64) error {
	f, l := d.f, &d.lay
	n := int64(len(p))
	switch {
	case n == 0:
	case l.storage == Compact:
		copy(p, l.data[off:])
	case l.addr == undef:
		d.fillBytes(p, off)
	default:
		at := f.base + l.addr
		// Compare without adding, because sums could overflow.
		if l.addr > f.src.size-f.base || off > f.src.size-at || n > f.src.size-at-off {
			return f.errAt(at, "data of "+d.path, fault.ErrTruncated, "bytes %d to %d of the array lie past the file end at %d", off, off+n, f.src.size)
		}
		if err := f.src.readFull(p, at+off); err != nil {
			return &fault.FormatError{File: f.name, Offset: at + off, Field: "data of " + d.path, Msg: "read", Err: err}
		}
	}
	return nil
}

// fillBytes fills p with the fill value. off is the offset of p in the array.
func (d *Dataset) fillBytes(p []byte, off int64) {
	if d.fill == nil {
		clear(p)
		return
	}
	w := int64(len(d.fill))
	n := min(int64(len(p)), w)
	for i := range n {
		p[i] = d.fill[(off+i)%w]
	}
	for done := n; done < int64(len(p)); done *= 2 {
		copy(p[done:], p[:done])
	}
}
