package netcdf

import (
	"context"
	"hash/crc32"
	"runtime"
	"slices"
	"sort"
	"sync"

	"blobio/amr"
	"blobio/amr/cello"
	"blobio/internal/elem"
	"blobio/internal/par"
	"blobio/internal/virtual"
)

// File is the netCDF form of a checkpoint, computed when it is read. It is an io.ReaderAt, safe for concurrent use.
//
// What is damaged in the checkpoint is an error at the bytes that it is needed for: of a field or an attribute of particles those
// of the block, and the block's checksum. To read a checksum reads the block, unless all else of it was read before.
type File struct{ *virtual.File }

// New returns the form of a part of a checkpoint (nil: of the whole), of which the heads of all blocks are read and kept. memory bounds what is kept of
// data, in bytes, beside what was read last; 0 means 16 MiB.
func New(ctx context.Context, k *cello.Checkpoint, p *Part, memory int64) (*File, error) {
	src, err := newSource(k, p)
	if err != nil {
		return nil, err
	}
	m := &maker{source: src, workers: min(runtime.GOMAXPROCS(0), 16)}
	var s *summary
	if m.list, s, err = src.heads(ctx); err != nil {
		return nil, err
	}
	if m.l, err = newLayout(src.meta, s, src.fields(), m.list); err != nil {
		return nil, err
	}
	m.data = 1 + slices.IndexFunc(m.l.vars, func(v variable) bool { return v.name == tableCRC })
	m.sums = make([]runningSum, len(m.list))
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
	data    int      // the first variable that is no table
	workers int

	mu   sync.Mutex
	sums []runningSum // by row
}

// runningSum is the checksum of a block's rows in the variables before next, 0 if there is none yet. Whoever reads the file from its begin to its end
// comes by them in their order, so that nothing is read twice for the checksums.
type runningSum struct {
	next int32
	crc  uint32
}

// tableBytes is how much of the rows that need no data is made at once.
const tableBytes = 64 << 10

// Unit implements virtual.Maker: what comes from one block, or some rows that are made of what is in memory.
func (m *maker) Unit(k int, _, at int64) (lo, hi int64) {
	v := &m.l.vars[k]
	elems := m.l.rowBytes(v) / int64(v.typ.Size())
	row := at / elems
	switch {
	case v.list >= 0:
		if total := m.l.lists[v.list].total; row >= total {
			return total, max(total, 1) // the row that is nobody's
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

// blockAt is the block that has a row of a list: the last of those that begin there or before it.
func (m *maker) blockAt(v *variable, row int64) int {
	return sort.Search(len(m.list), func(i int) bool { return m.list[i].at[v.list] > row }) - 1
}

// Make implements virtual.Maker.
func (m *maker) Make(ctx context.Context, k int, _, lo, hi int64, dst []byte) error {
	v := &m.l.vars[k]
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

// row makes what block i has of a variable.
func (m *maker) row(ctx context.Context, k, i int, dst []byte) error {
	v, p := &m.l.vars[k], m.list[i]
	var err error
	switch v.of.kind {
	case ofTables:
		if v.name == tableCRC {
			p.tables, err = m.tables(i)
		}
	case ofAll:
		p.crc, err = m.sum(ctx, i)
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
	if k >= m.data && v.of.kind != ofAll {
		return m.passed(k, i, dst)
	}
	return nil
}

// withField is block i with the data of a field.
func (m *maker) withField(ctx context.Context, i, f int) (*amr.Block, error) {
	b := *m.list[i].Block
	b.Fields = make([]amr.Field, f+1)
	var err error
	b.Fields[f].Data, err = m.field(ctx, i, f)
	return &b, err
}

// withParticles is block i with the data of an attribute of particles.
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

// tables is the checksum of block i's rows in the tables before it.
func (m *maker) tables(i int) (uint32, error) {
	p, crc := m.list[i], uint32(0)
	scratch, big := make([]byte, 0, 64), make([]byte, 64)
	for k := range m.data {
		v := &m.l.vars[k]
		if v.name == tableCRC {
			break
		}
		b, err := rowOf(m.l, v, scratch, &p)
		if err != nil {
			return 0, err
		}
		crc = sumRow(crc, b, v.typ.Size(), big)
	}
	return crc, nil
}

// passed adds the row of block i in a variable to the running checksum, if it is the next one.
func (m *maker) passed(k, i int, row []byte) error {
	s, err := m.running(i)
	if err != nil || int(s.next) != k {
		return err
	}
	next := runningSum{int32(k + 1), crc32.Update(s.crc, crc32.IEEETable, row)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sums[i] = next // of others that were here meanwhile it is the same
	return nil
}

// running is the running checksum of block i, which has the next row in its variable next.
func (m *maker) running(i int) (s runningSum, err error) {
	m.mu.Lock()
	s = m.sums[i]
	m.mu.Unlock()
	if s.next == 0 {
		if s.crc, err = m.tables(i); err != nil {
			return s, err
		}
		s.crc, s.next = sumRow(s.crc, native.AppendUint32(nil, s.crc), 4, make([]byte, 4)), int32(m.data)
	}
	for m.l.vars[s.next].of.kind != ofAll {
		if _, n := m.list[i].rows(m.l, &m.l.vars[s.next]); n > 0 {
			break
		}
		s.next++
	}
	return s, nil
}

// sum is the checksum of all rows of block i but itself.
func (m *maker) sum(ctx context.Context, i int) (uint32, error) {
	s, err := m.running(i)
	if err != nil || m.l.vars[s.next].of.kind == ofAll {
		return s.crc, err
	}
	p := m.list[i]
	if p.Block, err = m.block(ctx, i); err != nil {
		return 0, err
	}
	crc, err := sum(m.l, p)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sums[i] = runningSum{int32(len(m.l.vars) - 1), crc}
	return crc, nil
}
