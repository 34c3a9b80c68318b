package ffformat

import (
	"context"

	"blobio/internal/base/fault"
)

type mender struct {
	*repairing
	ctx    context.Context
	budget int64 // bytes that may still be hashed to test guesses; the limit bounds the time for hostile files
	sizes  int   // number of containers whose size was tested by plausible
}

// maxStrays limits how often mend tries other values: another variable or size for a container, and another index in the table
// for a variable.
const maxStrays = 1000

// mend corrects records by the growth rule and the hashes of the chunks. It corrects only fields for which a single value is
// possible.
func (m *mender) mend() error {
	if structureOf(m.f).worst() == nil {
		return nil
	}
	m.budget = 4*m.f.Size + 1<<20
	if err := m.places(); err != nil {
		return err
	}
	m.numbers()
	return m.chunks()
}

// matches reports whether the n bytes at off have this hash.
func (m *mender) matches(off, n int64, hash digest) (bool, error) {
	if off < 0 || n < 0 || n > m.f.Size || off > m.f.Size-n || n > m.budget {
		return false, nil
	}
	m.budget -= n
	c := place{Container: &Container{Fptr: off, ChunkSize: n}}
	res, err := newReader(m.r, &File{Name: m.f.Name, Layout: m.f.Layout, Hash: m.f.Hash, BlockSize: m.f.BlockSize, Size: m.f.Size}).
		hashChunks(m.ctx, []chunkJob{{c: c}}, m.Workers)
	if err != nil {
		return false, err
	}
	if isIO(res[0].err) {
		return false, res[0].err
	}
	return res[0].err == nil && res[0].hash == hash, nil
}

func (m *mender) fix(p place, at span, field string, was, is int64) {
	fi := m.act(p.offset+int64(at.off), p.field()+": "+field, "%d, was %d", is, was)
	fi.Var = fault.Num(p.ID)
}

// places corrects offsets and sizes so that the containers of each block are adjacent.
func (m *mender) places() error {
	f, t := m.f, &m.f.Layout.table().vmd
	var next int64
	all := m.list()
	for i, p := range all {
		if !f.Layout.atEnd() && p.index == 0 {
			next = addSat(f.Blocks[p.block].Offset, f.Layout.blockMeta(len(f.Blocks[p.block].Containers)))
		}
		if p.Fptr != next {
			// Either this offset or the size of the container before it is wrong.
			ok, err := m.matches(next, m.used(p), p.Hash)
			if err != nil {
				return err
			}
			if ok || !p.HasContent || p.ChunkSize == 0 {
				m.fix(p, t.fptr, "fptr", p.Fptr, next)
				p.Fptr = next
			}
		}
		// end is where the next container begins.
		end := m.end(all, i)
		if room := end - p.Fptr; room != p.ContainerSize && room >= 0 && (p.ContainerSize < 0 || end >= 0 && m.plausible(all, i, room)) {
			m.fix(p, t.room, "containersize", p.ContainerSize, room)
			p.ContainerSize = room
		}
		if p.ContainerSize < 0 {
			return nil // the remaining containers cannot be corrected
		}
		next = addSat(p.Fptr, p.ContainerSize)
	}
	return nil
}

func (m *mender) list() []place {
	var all []place
	for p := range m.f.all() {
		all = append(all, p)
	}
	return all
}

func (m *mender) used(p place) int64 {
	if p.HasContent {
		return p.ChunkSize
	}
	return 0
}

// end returns where container i ends: at the begin of the next container or at the end of the data. It returns -1 if this is
// unknown.
func (m *mender) end(all []place, i int) int64 {
	f := m.f
	if i+1 < len(all) && (f.Layout.atEnd() || all[i+1].block == all[i].block) {
		return all[i+1].Fptr
	}
	if f.Layout.atEnd() {
		return f.Blocks[0].Offset
	}
	if b := all[i].block; b+1 < len(f.Blocks) {
		return f.Blocks[b+1].Offset
	}
	return f.FB.FileSize
}

// plausible reports whether room, instead of the recorded size, is the right size of container i. To be right, it must agree
// with the variable's next container or with the size of the block.
func (m *mender) plausible(all []place, i int, room int64) bool {
	if m.sizes++; m.sizes > maxStrays {
		return false
	}
	p := all[i]
	for _, q := range all[i+1:] {
		if q.ID == p.ID {
			return q.Dptr == addSat(p.Dptr, room)
		}
	}
	b := &m.f.Blocks[p.block]
	sum := int64(0)
	if !m.f.Layout.atEnd() {
		sum = m.f.Layout.blockMeta(len(b.Containers))
	}
	for j := range b.Containers {
		if &b.Containers[j] != p.Container {
			sum = addSat(sum, b.Containers[j].ContainerSize)
		}
	}
	return addSat(sum, room) == b.Size
}

// numbers corrects dptr, containerid, idx and id fields that contradict the other records.
func (m *mender) numbers() {
	t := &m.f.Layout.table().vmd
	type state struct {
		n   int32
		sum int64
		idx int32
	}
	type numbered struct{ id, n int32 }
	claims := map[numbered]int{}
	for p := range m.f.all() {
		claims[numbered{p.ID, p.ContainerID}]++
	}
	seen := map[int32]*state{}
	var order []int32
	strays := 0
	for p := range m.f.all() {
		v := seen[p.ID]
		if v == nil {
			v = &state{idx: p.Idx}
		}
		if p.ContainerID != v.n || p.Dptr != v.sum {
			// The container does not belong to this variable. Find the variables that it can continue.
			if strays++; strays > maxStrays {
				return
			}
			owner, fits := int32(0), 0
			for _, id := range order {
				s := seen[id]
				if id != p.ID && p.ContainerID == s.n && p.Dptr == s.sum && (t.idx.len == 0 || p.Idx == s.idx) && claims[numbered{id, s.n}] == 0 {
					owner, fits = id, fits+1
				}
			}
			strange := p.ContainerID != v.n && p.Dptr != v.sum || claims[numbered{p.ID, p.ContainerID}] > 1
			switch {
			case fits == 1 && strange:
				m.fix(p, t.id, "id", int64(p.ID), int64(owner))
				claims[numbered{p.ID, p.ContainerID}]--
				p.ID, v = owner, seen[owner]
				claims[numbered{p.ID, p.ContainerID}]++
			case fits > 0: // ambiguous, because several variables are possible
			case p.ContainerID == v.n && claims[numbered{p.ID, v.n}] == 1:
				m.fix(p, t.dptr, "dptr", p.Dptr, v.sum)
				p.Dptr = v.sum
			case p.Dptr == v.sum && claims[numbered{p.ID, v.n}] == 0:
				m.fix(p, t.containerID, "containerid", int64(p.ContainerID), int64(v.n))
				p.ContainerID = v.n
			}
		}
		if t.idx.len > 0 && v.n > 0 && p.Idx != v.idx {
			m.fix(p, t.idx, "idx", int64(p.Idx), int64(v.idx))
			p.Idx = v.idx
		}
		v.n++
		v.sum = addSat(v.sum, p.ContainerSize)
		if seen[p.ID] == nil {
			order = append(order, p.ID)
		}
		seen[p.ID] = v
	}
	m.table(order)
}

// table corrects the indexes of variables in FTI's table. They must be 0, 1, ..., each used once. If two variables have the
// same index, table keeps the index of the variable whose order of appearance equals it.
func (m *mender) table(order []int32) {
	t := &m.f.Layout.table().vmd
	if t.idx.len == 0 {
		return
	}
	idx := map[int32]int32{}
	for p := range m.f.all() {
		idx[p.ID] = p.Idx
	}
	owner := map[int32]int32{}
	for i, id := range order {
		k := idx[id]
		if _, ok := owner[k]; k >= 0 && int(k) < len(order) && (!ok || int(k) == i) {
			owner[k] = id
		}
	}
	free := int32(0)
	moved := 0
	for _, id := range order {
		if o, ok := owner[idx[id]]; ok && o == id {
			continue
		}
		if moved++; moved > maxStrays {
			return
		}
		for _, ok := owner[free]; ok; _, ok = owner[free] {
			free++
		}
		owner[free] = id
		for p := range m.f.all() {
			if p.ID == id && p.Idx != free {
				m.fix(p, t.idx, "idx", int64(p.Idx), int64(free))
				p.Idx = free
			}
		}
	}
}

// chunks corrects chunksize and hascontent by the growth rule and the hash of the chunk.
func (m *mender) chunks() error {
	t := &m.f.Layout.table().vmd
	last := map[int32]*Container{} // last container with content, by variable
	for p := range m.f.all() {
		if p.HasContent && p.ChunkSize > 0 {
			last[p.ID] = p.Container
		}
	}
	open := map[int32]bool{}
	first := map[int32]bool{}
	for p := range m.f.all() {
		isFirst := !first[p.ID]
		first[p.ID] = true
		if p.odd != [2]byte{} {
			m.fix(p, t.hasContent, "hascontent, hasCkpt", int64(max(p.odd[0], p.odd[1])), 1)
			p.odd = [2]byte{}
		}
		if open[p.ID] && p.HasContent && p.ChunkSize == 0 && p.Hash != emptyHash(m.f) {
			m.fix(p, t.hasContent, "hascontent", 1, 0)
			p.HasContent = false
		}
		if open[p.ID] && !p.HasContent && p.ChunkSize != 0 {
			m.fix(p, t.chunk, "chunksize", p.ChunkSize, 0)
			p.ChunkSize = 0
		}
		try := []int64{p.ContainerSize}
		if !p.HasContent || p.ChunkSize == 0 {
			try = append(try, p.ChunkSize)
		}
		wrong := p.ChunkSize < 0 || p.ChunkSize > p.ContainerSize || !p.HasContent && (p.ChunkSize != 0 || isFirst) ||
			p.HasContent && p.ChunkSize < p.ContainerSize && last[p.ID] != nil && last[p.ID] != p.Container && !open[p.ID]
		if wrong {
			for _, n := range try {
				ok, err := m.matches(p.Fptr, n, p.Hash)
				if err != nil {
					return err
				}
				if !ok {
					continue
				}
				if n != p.ChunkSize {
					m.fix(p, t.chunk, "chunksize", p.ChunkSize, n)
				}
				if !p.HasContent {
					m.fix(p, t.hasContent, "hascontent", 0, 1)
				}
				p.ChunkSize, p.HasContent = n, true
				break
			}
		}
		if p.ChunkSize < p.ContainerSize || !p.HasContent {
			open[p.ID] = true
		}
	}
	return nil
}
