package redset

import (
	"slices"

	"blobio/internal/base/durable"
)

// finish writes the remaining files under temporary names and syncs all files.
func (e *encoding) finish() error {
	p := &e.s.p
	if name := p.descName(e.prefix); name != "" {
		b, err := encodePlaces(e.lay, e.descs, p.rank)
		if err != nil {
			return err
		}
		if err := e.temp(name, b); err != nil {
			return err
		}
	}
	if !e.s.o.NoSums {
		if err := e.sum(); err != nil {
			return err
		}
	}
	err := e.store.payOut.wait()
	if err1 := e.temps.Finish(); err == nil {
		err = err1
	}
	_ = e.store.close() // Finish has closed the redundancy file
	return err
}

// sum writes the checksum file, and keeps the checksums of this rank's files.
func (e *encoding) sum() error {
	p := &e.s.p
	sums, err := e.gather()
	if err != nil {
		return err
	}
	b, err := encodeSums(e.lay, e.ext, sums, p.rank)
	if err != nil {
		return err
	}
	if err := e.temp(p.sumName(e.prefix), b); err != nil {
		return err
	}
	e.s.sums = map[string]uint32{}
	for i, crc := range sums[p.rank].fileSums(e.ext[p.rank], len(e.files)) {
		e.s.sums[e.files[i].name] = crc
	}
	return nil
}

// temp begins a small file under a temporary name. The redundancy file is the first temporary file, and is the last that gets its
// name.
func (e *encoding) temp(name string, b []byte) error {
	t, err := small(e.fs, name, b)
	if err == nil {
		e.temps.AddFirst(t)
	}
	return err
}

// gather collects the checksums of this member and of its left neighbours.
func (e *encoding) gather() ([]*memberSums, error) {
	sums := make([]*memberSums, e.s.p.n)
	for _, m := range append(e.lay.left(e.s.p.rank), e.s.p.rank) {
		sums[m] = e.lay.newSums(e.ext[m])
		h := e.header(m)
		if _, err := h.encode(); err != nil {
			return nil, err
		}
		sums[m].header = h.crc
	}
	for i, j := range e.eng.jobs {
		for x, el := range j.in {
			e.lay.keep(sums, e.ext, j.c, el, e.eng.in[i][x].crc)
		}
		for x, el := range j.out {
			e.lay.keep(sums, e.ext, j.c, el, e.eng.out[i][x].crc)
		}
	}
	return sums, nil
}

func (e *encoding) commit() error { return e.temps.Commit(true) }

// undo removes all new files.
func (e *encoding) undo() {
	_ = e.store.close()
	e.temps.Discard()
	names := e.temps.Names()
	slices.Reverse(names) // remove the redundancy file first, because without it the others are not trusted
	for _, name := range names {
		_ = durable.Remove(e.fs, name)
	}
}
