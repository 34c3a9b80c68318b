package blocks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"blobio/amr"
	"blobio/blob"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// Convert writes the blocks of a source as one dataset. Each worker holds a few
// blocks at a time. With the defaults the order of the source stays. A form with blobs is made
// by way of a hidden canonical file beside it, which needs as much room again for a while.
func Convert(ctx context.Context, src Source, name string, o *Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	f := o.filled()
	if f.Workers == 0 {
		f.Workers = min(runtime.GOMAXPROCS(0), 16)
	}
	if src.Len() == 0 {
		return pkg.Usage("no blocks")
	}
	if !f.Force {
		if err := free(vfs.OS, name, f.Form); err != nil {
			return err
		}
	}
	if f.Form == Canonical {
		out, err := output(ctx, name, &f)
		if err != nil {
			return err
		}
		defer out.Discard()
		if err := convert(ctx, src, out, &f); err != nil {
			return err
		}
		return out.Commit()
	}
	l, err := durable.Acquire(ctx, vfs.OS, name, durable.LeaseOptions{})
	if err != nil {
		return pkg.Errorf("%w", err)
	}
	defer func() { _ = l.Release() }() // one that could not be removed ends with the process
	canon := f
	canon.Form, canon.Durability, canon.Force = Canonical, blob.DurableNone, true
	between, err := output(ctx, name+".canonical", &canon)
	if err != nil {
		return err
	}
	defer between.Discard()
	if err := convert(ctx, src, between, &canon); err != nil {
		return err
	}
	_ = l.Release() // what writes the blobs takes it
	return toBlobs(ctx, between.Temp(), name, &f)
}

// maxHold is how many bytes of blocks a worker reads at once.
const maxHold = 4 << 20

// convert writes the canonical file with several workers, each of which has a part of the source.
func convert(ctx context.Context, src Source, out *durable.Output, o *Options) error {
	workers := max(min(o.Workers, src.Len()), 1)
	var done atomic.Int64
	total := int64(src.Len())
	err := comm.Run(ctx, workers, nil, func(ctx context.Context, c comm.Comm) error {
		lo, hi := src.Len()*c.Rank()/workers, src.Len()*(c.Rank()+1)/workers
		heads, l, list, err := plan(ctx, c, src, lo, hi, o.Ordering)
		if err != nil {
			return err
		}
		row := make(map[*amr.Block]int, len(heads))
		for i, b := range heads {
			row[b] = lo + i
		}
		w := window{src: src, end: hi}
		return fill(ctx, c, out, l, list, func(ctx context.Context, p *placed) (*placed, error) {
			b, err := w.get(ctx, row[p.Block])
			if err != nil {
				return nil, err
			}
			if b.Index != p.Index {
				return nil, pkg.Usage("block %d of the source has changed", row[p.Block])
			}
			if o.Progress != nil {
				o.Progress(done.Add(1), total)
			}
			q := *p
			q.Block = b
			return &q, nil
		}, o)
	})
	return plain(err)
}

// plan reads the heads of the blocks of a worker, and arranges those of all. Collective.
func plan(ctx context.Context, c comm.Comm, src Source, lo, hi int, order amr.Ordering) (heads []*amr.Block, l *layout, list []placed, err error) {
	m := src.Meta()
	heads, own, err := headsOf(ctx, src, lo, hi)
	if err == nil {
		err = m.Validate()
	}
	s, err := agree(ctx, c, own, err)
	if err != nil {
		return nil, nil, nil, err
	}
	l, list, err = arrange(ctx, c, m, s, heads, order)
	return heads, l, list, err
}

// plain takes the rank of a worker, which means nothing to the caller, from an error.
func plain(err error) error {
	var r *comm.RankError
	if errors.As(err, &r) && r.Err != nil {
		return r.Err
	}
	return err
}

// headsOf reads the blocks of a worker, a few at a time, and keeps what is not data.
func headsOf(ctx context.Context, src Source, lo, hi int) ([]*amr.Block, *summary, error) {
	const chunk = 1024
	s := &summary{Attrs: map[string]*attrsOf{}}
	out := make([]*amr.Block, 0, hi-lo)
	for lo < hi {
		end := min(lo+chunk, hi)
		list, err := src.Heads(ctx, lo, end)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range list {
			if err := s.add(src.Meta(), b); err != nil {
				return nil, nil, err
			}
			// the tables, and what decides about the rows of lists
			h := &amr.Block{Index: b.Index, Leaf: b.Leaf, Cycle: b.Cycle, Time: b.Time, Dt: b.Dt, Cost: b.Cost, Adapt: standIn(b.Adapt), Attrs: b.Attrs}
			for i := range b.Particles {
				h.Particles = append(h.Particles, amr.Particles{Spec: b.Particles[i].Spec, N: b.Particles[i].N})
			}
			out = append(out, h)
		}
		lo = end
	}
	return out, s, nil
}

// adaptMost is how long adapt_buffers are.
const adaptMost = 4000

var onesAndZeros = append(bytes.Repeat([]byte{1}, adaptMost), make([]byte, adaptMost)...)

// standIn is as long as an adapt_buffer, has as many zeros at its end, and takes no memory.
func standIn(adapt []byte) []byte {
	n := len(trimmed(adapt))
	if adapt == nil || n > adaptMost || len(adapt)-n > adaptMost {
		return adapt
	}
	return onesAndZeros[adaptMost-n : adaptMost-n+len(adapt) : adaptMost-n+len(adapt)]
}

// window is the blocks of the source that were read last.
type window struct {
	src   Source
	first int
	end   int // of what this worker reads
	list  []*amr.Block
	last  int
}

func (w *window) get(ctx context.Context, i int) (*amr.Block, error) {
	if k := i - w.first; k >= 0 && k < len(w.list) {
		b := w.list[k]
		w.last = i
		return b, nil
	}
	n := 1
	if len(w.list) > 0 && i == w.last+1 { // one after the other: read more at once
		size := int64(1)
		for _, b := range w.list {
			size = max(size, b.Bytes())
		}
		n = int(min(max(maxHold/size, 1), int64(2*len(w.list)), 1024))
	}
	list, err := w.src.Range(ctx, i, min(i+n, w.end))
	if err != nil {
		return nil, err
	}
	w.first, w.list, w.last = i, list, i
	return list[0], nil
}

// toBlobs converts a canonical file to blobs of o.Ranks ranks, each with a run of blocks.
func toBlobs(ctx context.Context, from, name string, o *Options) error {
	d, err := Open(ctx, from, nil)
	if err != nil {
		return err
	}
	defer d.Close()
	ranks := max(o.Ranks, 1)
	maps, of, err := d.maps(ranks)
	if err != nil {
		return err
	}
	c := &blob.ConvertOptions{Layout: o.Form.Layout(), Blobs: true, Ranks: ranks, Maps: maps, MapOf: func(v *blob.Variable) int { return of[v.Name] },
		Subfiles: max(o.Subfiles, 1), Force: o.Force, Durability: o.Durability, Workers: o.Workers, DropUncovered: true}
	return blob.Convert(ctx, d.r, name, c)
}

// maps deals the blocks to ranks in runs of equal numbers: a map for each set of
// dimensions, and which variable has which (from 1).
func (d *Dataset) maps(ranks int) (maps []*decomp.Map, of map[string]int, err error) {
	s := d.r.Schema()
	n := d.Len()
	of = map[string]int{}
	known := map[string]int{}
	for id, v := range s.Vars() {
		key := fmt.Sprint(v.Dims)
		if k := known[key]; k > 0 {
			of[v.Name] = k
			continue
		}
		shape := s.Shape(blob.VarID(id))
		size := int64(1)
		for _, n := range shape[1:] {
			size *= n
		}
		l := d.listOf(v.Name)
		b := decomp.NewBuilder(shape, ranks)
		for r := range ranks {
			lo, hi := int64(r)*int64(n)/int64(ranks), int64(r+1)*int64(n)/int64(ranks)
			if lo == hi {
				continue
			}
			if l != nil {
				lo, hi = l.start[lo], l.start[hi-1]+max(l.count[hi-1], 0)
			}
			if lo == hi {
				continue
			}
			if err := b.Set(r, []decomp.Req{{Offset: lo * size, Length: (hi - lo) * size}}); err != nil {
				return nil, nil, err
			}
		}
		m, err := b.Map()
		if err != nil {
			return nil, nil, err
		}
		maps = append(maps, m)
		known[key], of[v.Name] = len(maps), len(maps)
	}
	return maps, of, nil
}

// listOf is the list that a flat variable belongs to, nil if it has a row for each block.
func (d *Dataset) listOf(variable string) *stored {
	for i := range d.meta.Particles {
		for _, col := range d.cols[i] {
			if col == variable {
				return d.lists["particle_"+d.meta.Particles[i].Name]
			}
		}
	}
	return d.lists[variable]
}
