package cello

import (
	"bytes"
	"context"
	"math"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// Block reads block i of Blocks with all its data and verifies them with the manifest's checksums (see OpenOptions.NoVerify). An
// ErrChecksum error names file, block, dataset and both checksums. Attrs holds the attributes that Write could not compute from
// the rest of the block: attributes outside the format, and junk in files of Enzo-E (bounds on axes beyond the rank).
func (k *Checkpoint) Block(ctx context.Context, i int) (*amr.Block, error) {
	return k.block(ctx, nil, 0, i)
}

// block does the work of Block. If win is not nil, block reads the group through win. ahead is the number of blocks that the
// caller will read through win after this one.
func (k *Checkpoint) block(ctx context.Context, win *window, ahead, i int) (*amr.Block, error) {
	b, err := k.head(ctx, win, ahead, i)
	if err != nil {
		return nil, err
	}
	return b, k.data(i, b)
}

func (k *Checkpoint) checkBlock(i int) error {
	if i < 0 || i >= len(k.blocks) {
		return fault.Usage("block %d, want 0 to %d", i, len(k.blocks)-1)
	}
	return nil
}

// Head reads block i without its data. The result has no fields, and its particles have only a number.
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
		r := stampAttrs(k.template, stamp)
		k.attrs(b, &r, i)
		if shared { // the memory will be reused
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
		if err := k.decodedAttrs(b, o, i); err != nil {
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

// attrs sets the attributes of a block from raw values. The block then refers to their memory. A value of nil means that the
// attribute is missing or has a wrong shape.
func (k *Checkpoint) attrs(b *amr.Block, r *rawAttrs, i int) {
	if r[attrCycle] != nil {
		b.Cycle = int32(r.ints(attrCycle)[0])
	}
	if r[attrTime] != nil {
		b.Time = r.floats(attrTime)[0]
	}
	if r[attrDt] != nil {
		b.Dt = r.floats(attrDt)[0]
	}
	p := place{m: &k.meta, enzo: k.enzo, order: int64(i), count: int64(len(k.blocks))}
	p.lo, p.hi = b.Index.Bounds(&k.meta.Geometry)
	var buf [24]byte
	for n, v := range r {
		if v == nil || ownAttrs[blockAttrs[n].name] {
			continue
		}
		want := buf[:len(v)]
		if p.derive(want, n, b); !bytes.Equal(v, want) {
			keep(b, blockAttrs[n].name, r.value(n, k.enzo))
		}
	}
	b.Adapt = r[attrAdapt]
}

func keep(b *amr.Block, name string, v any) {
	if b.Attrs == nil {
		b.Attrs = map[string]any{}
	}
	b.Attrs[name] = v
}

func (k *Checkpoint) decodedAttrs(b *amr.Block, o *h5.Object, i int) error {
	var r rawAttrs
	for a, err := range o.Attrs() {
		if err != nil {
			return err
		}
		n, std := standard[a.Name]
		if std && a.Type.Little() == blockAttrs[n].typ(k.enzo) && len(a.Dims) == 1 && a.Elems() == int64(blockAttrs[n].n) {
			if r[n], err = rawOf(a); err != nil {
				return err
			}
			continue
		}
		if std && (n == attrCycle || n == attrTime || n == attrDt) { // for example a scalar
			v, err := a.Float64s()
			if err != nil || len(v) == 0 {
				return fault.At(k.path(k.blocks[i].File), -1, k.blocks[i].Name+" "+a.Name, ErrCorrupt, "of type %v, %d elements", a.Type, a.Elems())
			}
			r[n] = make([]byte, blockAttrs[n].typ(k.enzo).Size())
			(&place{m: &k.meta}).derive(r[n], n, &amr.Block{Cycle: int32(v[0]), Time: v[0], Dt: v[0]})
			continue
		}
		if std && ownAttrs[a.Name] {
			continue
		}
		if v, err := a.Value(); err == nil && !a.Null { // Write could not write values of other types
			keep(b, a.Name, v)
		}
	}
	k.attrs(b, &r, i)
	b.Adapt = bytes.Clone(b.Adapt)
	return nil
}

// Share returns a Source, for WriteFrom, of a rank's share of the blocks. The share is a contiguous part of the curve.
func (k *Checkpoint) Share(rank, ranks int) Source {
	n := int64(len(k.blocks))
	from := cellodir.FileStart(rank, ranks, n)
	return &shareOf{k, int(from), int(cellodir.FileStart(rank+1, ranks, n) - from)}
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
