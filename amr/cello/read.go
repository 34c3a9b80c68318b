package cello

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"

	"blobio/amr"
	"blobio/internal/fault"
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
		return fault.Usage("block %d, want 0 to %d", i, len(k.blocks)-1)
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
		return nil, fault.At(k.path(info.File), -1, info.Name, ErrCorrupt, "%v", err)
	}
	for t := range np {
		if np[t] > math.MaxInt/8 {
			return nil, fault.At(k.path(info.File), -1, info.Name, ErrTooLarge, "%d particles", np[t])
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
			fail = errors.Join(fail, fault.At(k.path(k.blocks[i].File), -1, k.blocks[i].Name+" "+blockAttrs[n].name, ErrCorrupt, "of type %v, %d elements", at[n].Type, at[n].Elems()))
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
