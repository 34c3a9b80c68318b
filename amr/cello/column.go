package cello

import (
	"context"
	"math"

	"blobio/internal/amr"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// data reads the datasets of a block.
func (k *Checkpoint) data(i int, b *amr.Block) error {
	info, rec := &k.blocks[i], &k.recs[i]
	m := &k.meta
	for f := range m.Fields {
		if err := k.right(i, f); err != nil {
			return err
		}
	}
	// Read datasets that lie close together in one read.
	lo, hi, sum := int64(math.MaxInt64), int64(0), int64(0)
	together := true
	for c := range k.cols {
		e, n := k.extent(rec, c)
		if n == 0 {
			continue
		}
		if e.off < 0 {
			together = false
			break
		}
		lo, hi, sum = min(lo, e.off), max(hi, e.off+n), sum+n
	}
	var all []byte
	if together && sum > 0 && hi-lo <= sum+int64(16*len(k.cols)) && hi-lo < math.MaxInt {
		if hi > k.files[info.File].size {
			return fault.At(k.path(info.File), lo, info.Name, ErrTruncated, "data end at byte %d, but the file has %d bytes", hi, k.files[info.File].size)
		}
		all = make([]byte, hi-lo)
		if err := k.readAt(info.File, all, lo, info.Name); err != nil {
			return err
		}
	}
	get := func(c int) (p []byte, err error) {
		if e, n := k.extent(rec, c); all != nil && n > 0 {
			p = all[e.off-lo : e.off-lo+n : e.off-lo+n]
		} else if p, err = k.column(i, c, nil); err != nil {
			return nil, err
		}
		return p, k.native(i, c, p)
	}
	b.Fields = make([]amr.Field, len(m.Fields))
	for c := range k.cols {
		p, err := get(c)
		if err != nil {
			return err
		}
		if col := &k.cols[c]; col.field != nil {
			b.Fields[col.place] = amr.Field{Spec: col.field, Ghosts: k.ghosts[col.place], Data: p}
		} else {
			part := &b.Particles[col.ptype]
			part.Data = append(part.Data, p)
		}
	}
	return nil
}

// right returns an error if the cells of a column of block i may be in wrong places.
func (k *Checkpoint) right(i, c int) error {
	col, info := &k.cols[c], &k.blocks[i]
	if col.field == nil || !k.scrambled(col.place) || k.opt.AcceptScrambled {
		return nil
	}
	return fault.At(k.path(info.File), -1, info.Name+" "+col.name, ErrScrambled, "blocks of %v cells were written without ghosts", k.meta.Block)
}

// native compares a column of block i with its checksum and converts the column from file form to the byte order of the host.
func (k *Checkpoint) native(i, c int, p []byte) error {
	if err := k.compareData(i, c, p); err != nil {
		return err
	}
	if elem.HostBig != k.cols[c].big {
		elem.Swap(p, p, k.cols[c].typ.Size())
	}
	return nil
}

// column reads a column of block i in file form, into dst if dst is long enough.
func (k *Checkpoint) column(i, c int, dst []byte) ([]byte, error) {
	info, rec := &k.blocks[i], &k.recs[i]
	e, n := k.extent(rec, c)
	if n == 0 {
		return []byte{}, nil
	}
	if e.off >= 0 {
		if n > k.files[info.File].size-e.off || n > math.MaxInt {
			return nil, fault.At(k.path(info.File), e.off, info.Name+" "+k.cols[c].name, ErrTruncated, "%d bytes, the file has %d", n, k.files[info.File].size)
		}
		if int64(cap(dst)) < n {
			dst = make([]byte, n)
		}
		return dst[:n], k.readAt(info.File, dst[:n], e.off, info.Name+" "+k.cols[c].name)
	}
	// The dataset is chunked, compressed, compact or never written.
	if n > maxSlow {
		return nil, fault.At(k.path(info.File), -1, info.Name+" "+k.cols[c].name, ErrTooLarge, "%d bytes in storage that is not contiguous", n)
	}
	h, err := k.file(info.File)
	if err != nil {
		return nil, err
	}
	o, err := h.Open(e.addr, "/"+info.Name+"/"+k.cols[c].name)
	if err != nil {
		return nil, err
	}
	d, err := o.Dataset()
	if err != nil {
		return nil, err
	}
	p := make([]byte, n)
	return p, d.ReadRaw(nil, nil, p)
}

// maxSlow is the maximum allocation for a dataset whose stored size is unknown.
const maxSlow = 1 << 31

// Field reads one field of block i. The elements are in the byte order of the host, x fastest, with ghosts if Ghosts is true for
// the field. Field uses dst if dst is long enough.
func (k *Checkpoint) Field(ctx context.Context, i int, name string, dst []byte) ([]byte, error) {
	for c := range k.cols {
		if col := &k.cols[c]; col.field != nil && col.field.Name == name {
			return k.values(ctx, i, c, dst)
		}
	}
	return nil, fault.Usage("no field %q", name)
}

// Particles reads one attribute of the particles of a type in block i: one element per particle, in the byte order of the host.
// Particles uses dst if dst is long enough.
func (k *Checkpoint) Particles(ctx context.Context, i int, name, attribute string, dst []byte) ([]byte, error) {
	for c := range k.cols {
		col := &k.cols[c]
		if col.field != nil {
			continue
		}
		if p := &k.meta.Particles[col.ptype]; p.Name == name && p.Attrs[col.attr].Name == attribute {
			return k.values(ctx, i, c, dst)
		}
	}
	return nil, fault.Usage("no particles %q with attribute %q", name, attribute)
}

// values reads a column of block i and verifies its checksum.
func (k *Checkpoint) values(ctx context.Context, i, c int, dst []byte) ([]byte, error) {
	if err := k.checkBlock(i); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if k.recs[i].damaged {
		return nil, k.compareGroup(i, nil)
	}
	if err := k.right(i, c); err != nil {
		return nil, err
	}
	p, err := k.column(i, c, dst)
	if err != nil {
		return nil, err
	}
	return p, k.native(i, c, p)
}
