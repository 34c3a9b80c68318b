package cello

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"

	"blobio/amr"
	"blobio/internal/elem"
	"blobio/internal/h5"
)

func joinPath(dir, name string) string { return filepath.Join(dir, name) }

// Find returns the place of a block in Blocks by its name and level, and
// whether there is one.
func (k *Checkpoint) Find(name string, level int) (int, bool) {
	for i := range k.blocks {
		if k.blocks[i].Name == name && k.blocks[i].Level == level {
			return i, true
		}
	}
	return 0, false
}

// Block reads block i of Blocks with all its data, and compares them with the manifest, see
// OpenOptions.NoVerify: ErrChecksum names file, block, dataset and both sums. Attributes that do not
// follow from the rest are kept in Attrs: what is junk in files of the real program (bounds on
// axes beyond the rank), and any that are not of the format.
func (k *Checkpoint) Block(ctx context.Context, i int) (*amr.Block, error) {
	return k.block(ctx, nil, 0, i)
}

// block is Block; groups are read through a window, if there is one, of which ahead more
// blocks will be read.
func (k *Checkpoint) block(ctx context.Context, win *window, ahead, i int) (*amr.Block, error) {
	b, err := k.head(ctx, win, ahead, i)
	if err != nil {
		return nil, err
	}
	return b, k.data(i, b)
}

// window is one for the groups of a file.
func (k *Checkpoint) window(file int) *window {
	return &window{r: poolReader{k.pool, k.path(file)}, t: k.template, end: k.files[file].size}
}

func (k *Checkpoint) checkBlock(i int) error {
	if i < 0 || i >= len(k.blocks) {
		return pkg.Usage("block %d, want 0 to %d", i, len(k.blocks)-1)
	}
	return nil
}

// Head reads block i without its data: fields are left out, particles have
// their number only.
func (k *Checkpoint) Head(ctx context.Context, i int) (*amr.Block, error) {
	return k.head(ctx, nil, 0, i)
}

func (k *Checkpoint) head(ctx context.Context, win *window, ahead, i int) (*amr.Block, error) {
	if err := k.checkBlock(i); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	info, rec := &k.blocks[i], &k.recs[i]
	b := &amr.Block{Index: info.Index, Leaf: info.Leaf, Cost: info.Cost, Cycle: k.meta.Cycle, Time: k.meta.Time, Dt: k.meta.Dt}
	shared := win != nil
	if !shared {
		win = k.window(info.File)
	}
	stamp, ok, err := win.group(rec.addr, ahead)
	if err != nil {
		return nil, err
	}
	if !ok {
		stamp = nil
	}
	if err := k.compareGroup(i, stamp); err != nil {
		return nil, err
	}
	if ok {
		k.stampedAttrs(b, stampAttrs(k.template, stamp), i)
		if shared { // its bytes will be others
			b.Adapt = bytes.Clone(b.Adapt)
		}
	} else {
		h, err := k.file(info.File)
		if err != nil {
			return nil, err
		}
		o, err := h.Open(rec.addr, "/"+info.Name)
		if err != nil {
			return nil, err
		}
		if err := k.attrs(b, o, i); err != nil {
			return nil, err
		}
	}
	np := make([]int64, len(k.meta.Particles))
	if err := k.particleCounts(rec, np); err != nil {
		return nil, pkg.At(k.path(info.File), -1, info.Name, ErrCorrupt, "%v", err)
	}
	for t := range np {
		if np[t] > math.MaxInt/8 {
			return nil, pkg.At(k.path(info.File), -1, info.Name, ErrTooLarge, "%d particles", np[t])
		}
		b.Particles = append(b.Particles, amr.Particles{Spec: &k.meta.Particles[t], N: int(np[t])})
	}
	return b, nil
}

func (k *Checkpoint) path(file int) string { return joinPath(k.dir, k.files[file].name+dataSuffix) }

// stampedAttrs takes the attributes of a block from a stamp, whose bytes it keeps.
func (k *Checkpoint) stampedAttrs(b *amr.Block, r rawAttrs, i int) {
	b.Cycle = int32(r.ints(attrCycle)[0])
	b.Time, b.Dt = r.floats(attrTime)[0], r.floats(attrDt)[0]
	p := place{m: &k.meta, enzo: k.enzo, order: int64(i), count: int64(len(k.blocks))}
	p.lo, p.hi = b.Index.Bounds(&k.meta.Geometry)
	var buf [24]byte
	for n := range r {
		if ownAttrs[blockAttrs[n].name] {
			continue
		}
		want := buf[:len(r[n])]
		if p.derive(want, n, b); !bytes.Equal(r[n], want) {
			if b.Attrs == nil {
				b.Attrs = map[string]any{}
			}
			b.Attrs[blockAttrs[n].name] = r.value(n, k.enzo)
		}
	}
	b.Adapt = r[attrAdapt]
}

// attrs reads the attributes of a block.
func (k *Checkpoint) attrs(b *amr.Block, o *h5.Object, i int) error {
	keep := func(a *h5.Attr) {
		v, err := a.Value()
		if err != nil || a.Null {
			return // of a type that nothing here can write either
		}
		if b.Attrs == nil {
			b.Attrs = map[string]any{}
		}
		b.Attrs[a.Name] = v
	}
	var at [numBlockAttrs]*h5.Attr
	for a, err := range o.Attrs() {
		if err != nil {
			return err
		}
		if n, std := standard[a.Name]; std {
			at[n] = a
		} else {
			keep(a)
		}
	}
	var fail error
	scalar := func(n int) (float64, bool) {
		if at[n] == nil {
			return 0, false
		}
		v, err := at[n].Float64s()
		if err != nil || len(v) == 0 {
			fail = errors.Join(fail, pkg.At(k.path(k.blocks[i].File), -1, k.blocks[i].Name+" "+blockAttrs[n].name, ErrCorrupt, "of type %v, %d elements", at[n].Type, at[n].Elems()))
			return 0, false
		}
		return v[0], true
	}
	if v, ok := scalar(attrCycle); ok {
		b.Cycle = int32(v)
	}
	if v, ok := scalar(attrTime); ok {
		b.Time = v
	}
	if v, ok := scalar(attrDt); ok {
		b.Dt = v
	}
	if fail != nil {
		return fail
	}
	p := place{m: &k.meta, enzo: k.enzo, order: int64(i), count: int64(len(k.blocks))}
	p.lo, p.hi = b.Index.Bounds(&k.meta.Geometry)
	var buf [24]byte
	for n, a := range at {
		d := &blockAttrs[n]
		if a == nil || ownAttrs[d.name] {
			continue
		}
		raw, err := a.Raw()
		if err != nil {
			return err
		}
		t := d.typ(k.enzo)
		if want := buf[:int64(d.n)*t.Size()]; a.Type == t && len(a.Dims) == 1 && len(raw) == len(want) {
			if p.derive(want, n, b); bytes.Equal(raw, want) {
				continue
			}
		}
		keep(a)
	}
	if a := at[attrAdapt]; a != nil {
		raw, err := a.Raw()
		if err != nil {
			return err
		}
		if len(raw) == adaptBytes && a.Type == h5.Int32 {
			b.Adapt = bytes.Clone(raw)
		}
	}
	return nil
}

// data reads the datasets of a block.
func (k *Checkpoint) data(i int, b *amr.Block) error {
	info, rec := &k.blocks[i], &k.recs[i]
	m := &k.meta
	for f := range m.Fields {
		if k.Scrambled(f) && !k.opt.AcceptScrambled {
			return pkg.At(k.path(info.File), -1, info.Name+" "+k.cols[f].name, ErrScrambled, "blocks of %v cells were written without ghosts", m.Block)
		}
	}
	// Datasets that lie close together are read at once.
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
			return pkg.At(k.path(info.File), lo, info.Name, ErrTruncated, "data up to %d, the file has %d bytes", hi, k.files[info.File].size)
		}
		all = make([]byte, hi-lo)
		if err := k.readAt(info.File, all, lo, info.Name); err != nil {
			return err
		}
	}
	get := func(c int) ([]byte, error) {
		e, n := k.extent(rec, c)
		var p []byte
		if all != nil && n > 0 {
			p = all[e.off-lo : e.off-lo+n : e.off-lo+n]
		} else {
			var err error
			if p, err = k.column(i, c); err != nil {
				return nil, err
			}
		}
		if err := k.compareData(i, c, p); err != nil {
			return nil, err
		}
		if elem.HostBig != k.cols[c].big {
			elem.Swap(p, p, k.cols[c].typ.Size())
		}
		return p, nil
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

// extent returns where a column of a block lies, and its bytes.
func (k *Checkpoint) extent(rec *scanned, c int) (extent, int64) {
	e := rec.data[k.colAt[c]]
	return e, e.elems * int64(k.cols[c].typ.Size())
}

// column reads the bytes of a column of block i as they are in the file.
func (k *Checkpoint) column(i, c int) ([]byte, error) {
	info, rec := &k.blocks[i], &k.recs[i]
	e, n := k.extent(rec, c)
	if n == 0 {
		return []byte{}, nil
	}
	if e.off >= 0 {
		if n > k.files[info.File].size-e.off || n > math.MaxInt {
			return nil, pkg.At(k.path(info.File), e.off, info.Name+" "+k.cols[c].name, ErrTruncated, "%d bytes, the file has %d", n, k.files[info.File].size)
		}
		p := make([]byte, n)
		return p, k.readAt(info.File, p, e.off, info.Name+" "+k.cols[c].name)
	}
	// Chunked, compressed, compact or never written.
	if n > maxSlow {
		return nil, pkg.At(k.path(info.File), -1, info.Name+" "+k.cols[c].name, ErrTooLarge, "%d bytes in storage that is not contiguous", n)
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

// maxSlow bounds what is allocated for data whose bytes in the file are not known.
const maxSlow = 1 << 31

func (k *Checkpoint) readAt(file int, p []byte, off int64, what string) error {
	path := k.path(file)
	f, err := k.pool.Get(path, false)
	if err != nil {
		return err
	}
	defer k.pool.Put(path)
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return pkg.At(path, off+int64(n), what, ErrTruncated, "%d of %d bytes", n, len(p))
	}
	return pkg.Errorf("%s: %s: %w", path, what, err)
}

// Field reads one field of block i: elements in the byte order of the host, x fastest,
// with ghosts if Ghosts says so. dst is used if it is long enough.
func (k *Checkpoint) Field(ctx context.Context, i int, name string, dst []byte) ([]byte, error) {
	if err := k.checkBlock(i); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for c := range k.cols {
		col := &k.cols[c]
		if col.field == nil || col.field.Name != name {
			continue
		}
		info, rec := &k.blocks[i], &k.recs[i]
		if rec.damaged {
			return nil, k.compareGroup(i, nil)
		}
		if k.Scrambled(col.place) && !k.opt.AcceptScrambled {
			return nil, pkg.At(k.path(info.File), -1, info.Name+" "+col.name, ErrScrambled, "blocks of %v cells were written without ghosts", k.meta.Block)
		}
		e, n := k.extent(rec, c)
		var err error
		if e.off >= 0 && n <= k.files[info.File].size-e.off && n <= math.MaxInt {
			if int64(cap(dst)) < n {
				dst = make([]byte, n)
			}
			dst = dst[:n]
			err = k.readAt(info.File, dst, e.off, info.Name+" "+col.name)
		} else {
			dst, err = k.column(i, c)
		}
		if err == nil {
			err = k.compareData(i, c, dst)
		}
		if err != nil {
			return nil, err
		}
		if elem.HostBig != col.big {
			elem.Swap(dst, dst, col.typ.Size())
		}
		return dst, nil
	}
	return nil, pkg.Usage("there is no field %q", name)
}

// All is the Source of all blocks of a checkpoint, for WriteFrom on one rank;
// Share(rank, ranks) that of one rank's share.
func (k *Checkpoint) All() Source { return k.Share(0, 1) }

// Share returns the Source of a rank's part of the blocks, a run of the curve.
func (k *Checkpoint) Share(rank, ranks int) Source {
	n := int64(len(k.blocks))
	from := fileStart(rank, ranks, n)
	return &shareOf{k, int(from), int(fileStart(rank+1, ranks, n) - from)}
}

type shareOf struct {
	k       *Checkpoint
	from, n int
}

func (s *shareOf) Len() int { return s.n }
func (s *shareOf) Head(ctx context.Context, i int) (*amr.Block, error) {
	return s.k.Head(ctx, s.from+i)
}
func (s *shareOf) Block(ctx context.Context, i int) (*amr.Block, error) {
	return s.k.Block(ctx, s.from+i)
}
