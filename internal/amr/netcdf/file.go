package netcdf

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sort"

	"blobio/amr/cello"
	"blobio/internal/amr"
	"blobio/internal/base/cache"
	"blobio/internal/base/elem"
	"blobio/internal/base/par"
	"blobio/internal/cdf5/virtual"
)

// File is the netCDF form of a checkpoint. Its bytes are computed when they are read. File is an io.ReaderAt and safe for
// concurrent use.
//
// If a part of the checkpoint is damaged, only reads of bytes computed from this part return an error. For a field or a
// particle attribute, these are the bytes of one block.
type File struct{ *virtual.File }

// New returns the netCDF form of a part of a checkpoint (nil: the whole checkpoint). It reads the heads of all blocks and keeps
// them in memory. memory is the maximum size of the data cache in bytes, without the data of the last read; 0 means 16 MiB.
func New(ctx context.Context, k *cello.Checkpoint, p *Part, memory int64) (*File, error) {
	src, err := newSource(k, p)
	if err != nil {
		return nil, err
	}
	m := &maker{source: src, workers: min(runtime.GOMAXPROCS(0), 16)}
	grids := p != nil && p.Grids
	if grids {
		memory = cmp.Or(memory, 16<<20) / 2
		m.leaves = cache.New[leafKey](memory, func(v []float64) int64 { return int64(8 * len(v)) })
	}
	var s *summary
	if m.list, s, err = src.heads(ctx); err != nil {
		return nil, err
	}
	if m.l, err = newLayout(src.meta, s, src.fields(), m.list, grids); err != nil {
		return nil, err
	}
	f, err := virtual.New(k.Dir(), m.l.header(), m, memory)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// maker makes rows of the file.
type maker struct {
	*source
	l       *layout
	list    []placed // by row
	workers int
	leaves  *cache.Cache[leafKey, []float64] // data of leaves, cached for the variables on grids, because a read of a grid needs rows of cells of many blocks
}

// tableBytes is the number of bytes computed at once for rows that need no data.
const tableBytes = 64 << 10

// Unit implements virtual.Maker. A unit is the data from one block, or some rows computed from memory.
func (m *maker) Unit(k int, _, at int64) (lo, hi int64) {
	v := &m.l.vars[k]
	if v.grid != nil {
		return v.grid.unit(v, at)
	}
	elems := m.l.rowBytes(v) / int64(v.typ.Size())
	row := at / elems
	switch {
	case v.list >= 0:
		if total := m.l.lists[v.list].total; row >= total {
			return total, max(total, 1) // the filler row of an empty dimension
		}
		i := m.blockAt(v, row)
		first, n := m.list[i].rows(m.l, v)
		return first, first + n
	case v.of.kind == ofTables:
		step := max(tableBytes/m.l.rowBytes(v), 1)
		row -= row % step
		return row * elems, min(row+step, int64(len(m.list))) * elems
	}
	return row * elems, (row + 1) * elems
}

// blockAt returns the block that has a row of a list: the last block that begins at or before the row.
func (m *maker) blockAt(v *variable, row int64) int {
	return sort.Search(len(m.list), func(i int) bool { return m.list[i].at[v.list] > row }) - 1
}

// Make implements virtual.Maker.
func (m *maker) Make(ctx context.Context, k int, _, lo, hi int64, dst []byte) error {
	v := &m.l.vars[k]
	if v.grid != nil {
		return m.onGrid(ctx, v, lo, hi, dst)
	}
	elems := m.l.rowBytes(v) / int64(v.typ.Size())
	i, end := int(lo/elems), int(hi/elems)
	if v.list >= 0 {
		if lo >= m.l.lists[v.list].total {
			clear(dst)
			return nil
		}
		i, end = m.blockAt(v, lo), m.blockAt(v, hi-1)+1
	}
	workers := m.workers
	if v.of.kind == ofTables {
		workers = 1
	}
	return par.Each(ctx, workers, end-i, func(ctx context.Context, n int) error {
		p := &m.list[i+n]
		first, rows := p.rows(m.l, v)
		if rows == 0 {
			return nil
		}
		at := (first*elems - lo) * int64(v.typ.Size())
		return m.row(ctx, k, i+n, dst[at:at+rows*m.l.rowBytes(v)])
	})
}

// row computes the part of a variable from block i.
func (m *maker) row(ctx context.Context, k, i int, dst []byte) error {
	v, p := &m.l.vars[k], m.list[i]
	var err error
	switch v.of.kind {
	case ofField:
		p.Block, err = m.withField(ctx, i, v.of.i)
	case ofParticles:
		p.Block, err = m.withParticles(ctx, i, v.of.i, v.of.k)
	case ofAdapt:
		p.Block, err = m.k.Head(ctx, m.rows[i])
	}
	if err != nil {
		return err
	}
	b, err := rowOf(m.l, v, make([]byte, 0, 64), &p)
	if err != nil {
		return err
	}
	elem.Reorder(dst, b, v.typ.Size(), true)
	return nil
}

func (m *maker) withField(ctx context.Context, i, f int) (*amr.Block, error) {
	b := *m.list[i].Block
	b.Fields = make([]amr.Field, f+1)
	var err error
	b.Fields[f].Data, err = m.field(ctx, i, f)
	return &b, err
}

func (m *maker) withParticles(ctx context.Context, i, t, attr int) (*amr.Block, error) {
	spec := &m.l.meta.Particles[t]
	data, err := m.particles(ctx, i, spec, attr)
	if err != nil {
		return nil, err
	}
	b := *m.list[i].Block
	b.Particles = slices.Clone(b.Particles)
	for n := range b.Particles {
		if q := &b.Particles[n]; q.Spec.Name == spec.Name {
			q.Data = make([][]byte, len(spec.Attrs))
			q.Data[attr] = data
		}
	}
	return &b, nil
}
