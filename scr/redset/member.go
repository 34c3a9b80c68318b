package redset

import (
	"bytes"
	"fmt"
	"hash/crc32"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// member is a member of a set that is being repaired. Its files are accessible.
type member struct {
	r      *repair
	fs     vfs.FS
	prefix string
	rank   int
	paths  []string // paths in fs of the member's files

	store   *store
	partBad []bool // files to rebuild
	found   []bool // files that exist with the right size
	extBad  []bool // extents to rebuild
	extGood []bool // extents that were checked individually
	temps   durable.Group
	payload *durable.Temp // the new redundancy file, which is renamed last
	rebuilt []string
	corrupt []string
}

// findLost finds lost files by their existence and their sizes.
func (m *member) findLost() error {
	r, d := m.r, m.r.descs[m.rank]
	m.store = &store{in: newLogical(m.fs, false), out: newLogical(m.fs, true)}
	m.partBad, m.found = make([]bool, len(d.files)), make([]bool, len(d.files))
	m.extBad, m.extGood = make([]bool, len(r.ext[m.rank])), make([]bool, len(r.ext[m.rank]))
	for i, f := range d.files {
		m.store.in.add(m.paths[i], f.meta.Size)
		m.store.out.add("", f.meta.Size)
		m.found[i] = isRegular(m.fs, m.paths[i]) == f.meta.Size
		m.partBad[i] = !m.found[i] || r.distrusts(m.rank) || r.counts != nil && r.counts(m.paths[i])
	}
	for x, e := range r.ext[m.rank] {
		m.extBad[x] = m.partBad[e.part]
	}
	size := int64(-1)
	if h := r.headers[m.rank]; h != nil && !r.distrusts(m.rank) {
		f, err := m.fs.Open(h.dataName(m.prefix))
		if err == nil {
			m.store.pay, m.store.payOff = f, h.length
			if size, err = f.Size(); err != nil {
				size = -1
			}
		}
	}
	m.each(func(c int, e elem, s *state) {
		if e.parity {
			s.bad = size < 0 || m.store.payOff+e.off+r.lay.length(c) > size
		} else {
			s.bad = m.lacks(c, e)
		}
	})
	m.probe()
	return nil
}

func (m *member) each(f func(c int, e elem, s *state)) {
	for c, es := range m.r.elems {
		for x, e := range es {
			if e.member == m.rank {
				f(c, e, &m.r.state[c][x])
			}
		}
	}
}

// lacks reports whether some bytes of a data element are lost.
func (m *member) lacks(c int, e elem) bool {
	_, lo, hi, _ := m.r.lay.inElem(m.r.ext, c, e)
	for x := lo; x < hi; x++ {
		if m.extBad[x] && m.r.ext[m.rank][x].n > 0 {
			return true
		}
	}
	return false
}

// probe reads bad data elements that consist of several files, to find out which of the files are
// intact.
func (m *member) probe() {
	m.each(func(c int, e elem, s *state) {
		if e.parity || !s.bad {
			return
		}
		_, lo, hi, _ := m.r.lay.inElem(m.r.ext, c, e)
		for x := lo; x < hi; x++ {
			if m.extBad[x] || m.extGood[x] {
				continue
			}
			if m.extentSum(x, nil) == nil {
				m.extGood[x] = true
			} else {
				m.lose(x)
			}
		}
		if !m.lacks(c, e) { // the element was bad before and is good now; the disk is not reliable
			for x := lo; x < hi; x++ {
				m.lose(x)
			}
		}
	})
}

// lose marks an extent of an existing file as changed.
func (m *member) lose(x int) {
	i := m.r.ext[m.rank][x].part
	m.extBad[x], m.extGood[x] = true, false
	m.partBad[i] = true
}

// extentSum reads an extent, compares its checksum if it is known, and passes the bytes to the
// function to.
func (m *member) extentSum(x int, to func(b []byte, off int64) error) error {
	e := m.r.ext[m.rank][x]
	b := make([]byte, min(e.n, 1<<20))
	crc := uint32(0)
	for at := int64(0); at < e.n; at += int64(len(b)) {
		b = b[:min(int64(len(b)), e.n-at)]
		if err := m.store.in.readAt(b, e.off+at); err != nil {
			return err
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
		if to != nil {
			if err := to(b, e.off+at); err != nil {
				return err
			}
		}
	}
	if s := m.r.sums[m.rank]; s != nil && s.data[x] != crc {
		return fmt.Errorf("%s: checksum %#x, want %#x (%w)", m.paths[e.part], crc, s.data[x], fault.ErrCorrupt)
	}
	return nil
}

// prepare creates temporary files for the bad parts that have no temporary file yet.
func (m *member) prepare() error {
	for i, bad := range m.partBad {
		if !bad || m.store.out.parts[i].name != "" {
			continue
		}
		name := m.paths[i]
		f, err := createTemp(m.fs, name)
		if err != nil {
			return err
		}
		m.temps.Add(f)
		m.store.out.parts[i].name = f.Name()
		if err := f.Close(); err != nil {
			return err
		}
		m.rebuilt = append(m.rebuilt, name)
		if m.found[i] {
			m.corrupt = append(m.corrupt, name)
		}
	}
	lost := m.r.headers[m.rank] == nil
	m.each(func(_ int, e elem, s *state) { lost = lost || e.parity && s.bad })
	if !lost || m.store.payOut != nil {
		return nil
	}
	b, err := m.newHeader().encode()
	if err != nil {
		return err
	}
	name := m.newHeader().dataName(m.prefix)
	f, err := createTemp(m.fs, name)
	if err != nil {
		return err
	}
	m.payload = f
	m.store.payOut, m.store.payOutOff = &output{File: f}, int64(len(b))
	m.rebuilt = append(m.rebuilt, name)
	if m.store.pay != nil {
		m.corrupt = append(m.corrupt, name)
	}
	_, err = f.WriteAt(b, 0)
	return err
}

// newHeader returns the correct header of this member.
func (m *member) newHeader() *header { return m.r.newHeader(m.rank) }

func (r *repair) newHeader(m int) *header {
	return newHeader(r.descs[m].position, r.lay, r.descs, r.headerGroup(), r.extra)
}

// headerGroup returns GROUP for the headers of this set.
func (r *repair) headerGroup() []int {
	for _, h := range r.headers {
		if h != nil {
			return h.group
		}
	}
	return nil
}

// finish copies the good parts into the temporary files and syncs the temporary files.
func (m *member) finish() error {
	for x, e := range m.r.ext[m.rank] {
		if m.partBad[e.part] && !m.extBad[x] && e.n > 0 {
			if err := m.extentSum(x, m.store.out.writeAt); err != nil {
				return err
			}
		}
	}
	for i, p := range m.store.out.parts {
		if p.name == "" {
			continue
		}
		f, err := m.store.out.acquire(i)
		if err != nil {
			return err
		}
		err = f.Sync()
		m.store.out.open.Put(i)
		if err != nil {
			return err
		}
	}
	if err := m.finishPayload(); err != nil {
		return err
	}
	if err := m.store.close(); err != nil {
		return err
	}
	for i, p := range m.store.out.parts { // set the times after the last write, because a write changes them
		if f := m.r.descs[m.rank].files[i]; p.name != "" && f.meta.Mode != 0 {
			if err := vfs.SetMeta(m.fs, p.name, f.meta); err != nil {
				return err
			}
		}
	}
	return m.finishRest()
}

// finishPayload copies the good parity elements into the new redundancy file.
func (m *member) finishPayload() error {
	if m.store.payOut == nil {
		return nil
	}
	var err error
	b := make([]byte, 1<<20)
	m.each(func(c int, e elem, s *state) {
		if !e.parity || s.bad {
			return
		}
		n := m.r.lay.length(c)
		for at := int64(0); at < n && err == nil; at += int64(len(b)) {
			p := b[:min(int64(len(b)), n-at)]
			if err = m.store.read(e, at, p); err == nil {
				err = m.store.write(e, at, p)
			}
		}
	})
	if err == nil {
		err = m.store.payOut.Sync()
	}
	return err
}

// finishRest rewrites descriptors and checksums that are wrong.
func (m *member) finishRest() error {
	r := m.r
	h := m.newHeader()
	if name := h.descName(m.prefix); name != "" {
		want, err := encodePlaces(r.lay, r.descs, m.rank)
		if err != nil {
			return err
		}
		if have, err := readPlaces(m.fs, name); err != nil || len(have) != len(r.lay.left(m.rank))+1 {
			if err := m.small(name, want); err != nil {
				return err
			}
		}
	}
	if r.sums[m.rank] != nil {
		all := make([]*memberSums, r.n)
		for _, i := range append(r.lay.left(m.rank), m.rank) {
			if r.sums[i] == nil {
				continue
			}
			s := *r.sums[i]
			if hi := r.headers[i]; hi != nil && !(i == m.rank && m.store.payOut != nil) {
				s.header = hi.crc
			} else {
				hi = r.newHeader(i)
				if _, err := hi.encode(); err != nil {
					return err
				}
				s.header = hi.crc
			}
			all[i] = &s
		}
		want, err := encodeSums(r.lay, r.ext, all, m.rank)
		if err != nil {
			return err
		}
		name := h.sumName(m.prefix)
		if have, err := vfs.ReadFile(m.fs, name, maxHeader); err != nil || !bytes.Equal(have, want) {
			if err := m.small(name, want); err != nil {
				return err
			}
		}
	}
	if m.store.payOut != nil {
		m.temps.Add(m.payload)
	}
	return m.temps.Finish()
}

func (m *member) small(name string, b []byte) error {
	t, err := small(m.fs, name, b)
	if err != nil {
		return err
	}
	m.temps.Add(t)
	m.rebuilt = append(m.rebuilt, name)
	return nil
}

// commit gives the temporary files their final names. User files come first, and the redundancy
// file comes last.
func (m *member) commit() error { return m.temps.Commit(true) }

func (m *member) undo() {
	_ = m.store.close()
	m.temps.Discard()
	m.payload.Discard()
}
