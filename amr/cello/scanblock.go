package cello

import (
	"slices"
	"strings"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/h5"
)

// attrShape checks type and length of a standard attribute.
func (f *scannedFile) attrShape(block string, a *h5.Attr, d attrDef, want h5.Type) bool {
	switch {
	case a.Null || len(a.Dims) == 0:
		f.find(Error, spot{block: block, field: d.name}, ErrCorrupt, aborts, "a scalar dataspace, want a vector of %d", d.n)
		return false
	case len(a.Dims) != 1 || a.Elems() != int64(d.n):
		effect := runsWrong
		if a.Elems() > int64(d.n) {
			effect = "writes past the end of its memory"
		}
		f.find(Error, spot{block: block, field: d.name}, ErrCorrupt, effect, "shape %v, want a vector of %d", a.Dims, d.n)
		return false
	case a.Type.Little() != want:
		f.find(Error, spot{block: block, field: d.name}, ErrCorrupt, runsWrong, "type %v, want %v", a.Type, want)
		return false
	}
	if _, err := a.Raw(); err != nil {
		f.find(Error, spot{block: block, field: d.name}, err, aborts, "")
		return false
	}
	return true
}

// float64sOf returns the elements of a numeric attribute whose shape was checked.
func float64sOf(a *h5.Attr) []float64 {
	v, err := a.Float64s()
	if err != nil {
		return make([]float64, a.Elems())
	}
	return v
}

// openBlock opens the group of a block and finds its standard attributes.
func openBlock(h *h5.File, addr int64, name string) (o *h5.Object, at [numBlockAttrs]*h5.Attr, err error) {
	if o, err = h.Open(addr, "/"+name); err == nil {
		at, err = blockAttrsOf(o)
	}
	return o, at, err
}

// blockAttrsOf finds the standard attributes of a group in one pass.
func blockAttrsOf(o *h5.Object) (at [numBlockAttrs]*h5.Attr, err error) {
	for a, err := range o.Attrs() {
		if err != nil {
			return at, err
		}
		if i, std := standard[a.Name]; std {
			at[i] = a
		}
	}
	return at, nil
}

// block reads the headers of block e of a file. ahead is the number of blocks that the scan will
// read after it.
func (s *scanner) block(f *openedFile, ahead int, e cellodir.Entry, b *scanned) {
	b.name, b.level, b.order, b.count, b.addr = e.Name, e.Level, -1, -1, -1
	l, ok := f.links[e.Name]
	if !ok {
		f.find(Error, spot{block: e.Name}, ErrMissing, aborts, "group of the block list is missing in the file")
		return
	}
	b.addr = l.Addr()
	stamp, ok, err := f.win.group(b.addr, ahead)
	if ok && s.schema.stamped(b, stamp, f.size) {
		return
	}
	b.addr = -1
	if err != nil {
		f.find(Error, spot{block: e.Name}, err, aborts, "")
		return
	}
	o, at, err := openBlock(f.h5, l.Addr(), e.Name)
	if err != nil {
		f.find(Error, spot{block: e.Name}, err, aborts, "")
		return
	}
	b.addr = l.Addr()
	for _, k := range [...]int{attrIndex, attrIndexOrder, attrCountOrder} {
		d := blockAttrs[k]
		if at[k] == nil {
			if k == attrIndex && !s.deep { // a deep scan records the finding and continues
				f.find(Error, spot{block: e.Name, field: d.name}, ErrMissing, aborts, "attribute is missing")
				return
			}
			continue
		}
		if !s.deep && !f.attrShape(e.Name, at[k], d, d.typ(0)) {
			return
		}
		v, err := at[k].Int64s()
		if err != nil || len(v) != d.n {
			continue
		}
		switch k {
		case attrIndex:
			b.index, b.known = amr.Index{int32(v[0]), int32(v[1]), int32(v[2])}, true
		case attrIndexOrder:
			b.order = v[0]
		case attrCountOrder:
			b.count = v[0]
		}
	}
	s.datasets(&f.scannedFile, o, b)
}

// datasets finds the extents of a block's datasets and checks them against the schema.
func (s *scanner) datasets(f *scannedFile, o *h5.Object, b *scanned) {
	g, err := o.Group()
	if err != nil {
		f.find(Error, spot{block: b.name}, err, aborts, "")
		return
	}
	b.data = make([]extent, len(s.schema.cols))
	for i := range b.data {
		b.data[i] = extent{off: -1, elems: -1, addr: -1}
	}
	for l, err := range g.Members() {
		if err != nil {
			f.find(Error, spot{block: b.name}, err, aborts, "")
			return
		}
		c, ok := s.schema.byName[l.Name]
		if !ok {
			if strings.HasPrefix(l.Name, fieldPrefix) || strings.HasPrefix(l.Name, particlePrefix) {
				f.find(Error, spot{block: b.name, field: l.Name}, ErrCorrupt, "ignores it", "dataset is absent in block %s", s.schema.first.name)
			} else if s.deep {
				f.find(note, spot{block: b.name, field: l.Name}, nil, "ignores it", "neither field nor particles")
			}
			continue
		}
		var d *h5.Dataset
		x, err := g.Open(l)
		if err == nil {
			d, err = x.Dataset()
		}
		if err != nil {
			f.find(Error, spot{block: b.name, field: l.Name}, err, aborts, "")
			continue
		}
		k := &s.schema.cols[c]
		if d.Type() != k.typ {
			f.find(Error, spot{block: b.name, field: l.Name}, ErrCorrupt, runsWrong, "type %v, but %v in block %s", d.Type(), k.typ, s.schema.first.name)
			continue
		}
		if !d.SameShape(k.dims) && (strings.HasPrefix(l.Name, fieldPrefix) || d.Rank() != 1) {
			f.find(Error, spot{block: b.name, field: l.Name}, ErrCorrupt, aborts, "shape %v, but %v in block %s", d.Dims(), k.dims, s.schema.first.name)
			continue
		}
		e := &b.data[c]
		e.elems, e.addr = d.Elems(), l.Addr()
		if off, ok := d.Offset(); ok {
			e.off = off
			if n := d.Bytes(); off > f.size-n && f.size > 0 {
				f.find(Error, spot{block: b.name, field: l.Name}, ErrTruncated, aborts, "data at %d of %d bytes, the file has %d", off, n, f.size)
			}
		} else if s.deep && d.Storage() == h5.Contiguous && d.Elems() > 0 {
			f.find(warning, spot{block: b.name, field: l.Name}, nil, runsWrong, "data were never written, so the dataset reads as the fill value")
		}
	}
	for i := range b.data {
		if b.data[i].elems < 0 && !slices.ContainsFunc(f.finds, func(d Finding) bool { return d.Block == b.name && d.Field == s.schema.cols[i].name }) {
			f.find(Error, spot{block: b.name, field: s.schema.cols[i].name}, ErrMissing, aborts, "dataset is missing, but block %s has it", s.schema.first.name)
		}
	}
}
