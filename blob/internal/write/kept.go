package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/process"
	"blobio/blob/internal/unpack"
	"blobio/internal/base/elem"
	"fmt"
	"slices"
)

// remember saves the list of kept puts until the commit in progress is in force.
func (s *keptPuts) remember() {
	s.before = make([][]Pend, len(s.lists))
	for i, l := range s.lists {
		s.before[i] = slices.Clone(l)
	}
	if s.lists == nil {
		s.before = make([][]Pend, len(s.lay.Table.ID))
	}
}

// add keeps the puts until Close, when their offsets are known. copied is the number of bytes reserved for them; add changes the
// reservation to the number of bytes that it keeps.
func (s *keptPuts) add(lists [][]Pend, copied int64) error {
	kept := int64(0)
	if s.lists == nil {
		s.lists = make([][]Pend, len(lists))
	}
	for i, l := range lists {
		for _, p := range l {
			old := -1
			s.tally.noteEver(&p)
			if s.tally.Done.Set(i, &p, s.lay.Schema.Vars[p.V].Record) { // the variable is put again, so the earlier put is dropped
				old = slices.IndexFunc(s.lists[i], func(q Pend) bool { return q.V == p.V && q.Rec == p.Rec })
				if s.opt.Retain != dataset.LendUntilClose {
					s.proc.Release(int64(len(s.lists[i][old].Raw)))
				}
			}
			if s.opt.Retain == dataset.CopyOnPut {
				kept += int64(len(p.Raw))
			} else if s.opt.Retain == dataset.LendUntilFlush {
				if err := s.proc.Reserve(int64(len(p.Raw))); err != nil {
					return fmt.Errorf("flush of %q: %w", s.lay.Schema.Vars[p.V].Name, err)
				}
				p.Raw = append(make([]byte, 0, len(p.Raw)), p.Raw...)
			}
			if old >= 0 {
				s.lists[i][old] = p
			} else {
				s.lists[i] = append(s.lists[i], p)
			}
		}
	}
	if kept > copied { // parts of records are kept as whole records
		if err := s.proc.Reserve(kept - copied); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
	} else {
		s.proc.Release(copied - kept)
	}
	return nil
}

// Missing returns, by local rank, the kept puts of fixed variables and of records below records, and fill values for puts that
// are missing.
func (s *keptPuts) Missing(records int64) [][]Pend {
	lists, stay := s.take(records)
	var open []int64 // incomplete records
	for rec := s.tally.From; rec < records && s.lay.Exts.Recs > 0; rec++ {
		if !s.tally.Done.complete(rec) {
			open = append(open, rec)
		}
	}
	for i := range lists {
		for v := range s.lay.Schema.Vars {
			sv := &s.lay.Schema.Vars[v]
			if sv.Decomp == 0 && s.lay.Table.ID[i] != 0 || s.lay.Appended && !sv.Record {
				continue
			}
			recs := open
			if !sv.Record {
				recs = []int64{0}
			}
			for _, rec := range recs {
				p := Pend{V: int32(v), Rec: rec, Mem: sv.Type}
				if !s.tally.Done.has(i, &p, sv.Record) {
					lists[i] = append(lists[i], p)
				}
			}
		}
	}
	if s.opt.Keeps() { // add has noted kept puts as done; from now on Done counts only written puts
		s.tally.Done = newDoneSet(s.lay.Table.ID, s.lay.Schema)
		s.lists = stay
		s.note()
	}
	return lists
}

// take splits the kept puts into the puts to write now and the puts of later records.
func (s *keptPuts) take(records int64) (lists, stay [][]Pend) {
	lists, stay = make([][]Pend, len(s.lay.Table.ID)), make([][]Pend, len(s.lay.Table.ID))
	s.freed = 0
	for i, l := range s.lists {
		if !slices.ContainsFunc(l, func(p Pend) bool { return s.lay.Schema.Vars[p.V].Record && p.Rec >= records }) {
			lists[i] = l
		} else {
			for _, p := range l {
				if s.lay.Schema.Vars[p.V].Record && p.Rec >= records {
					stay[i] = append(stay[i], p)
				} else {
					lists[i] = append(lists[i], p)
				}
			}
		}
		if s.opt.Retain != dataset.LendUntilClose {
			for _, p := range lists[i] {
				s.freed += int64(len(p.Raw))
			}
		}
	}
	return lists, stay
}

// note records the kept puts as done.
func (s *keptPuts) note() {
	for i, l := range s.lists {
		for k := range l {
			s.tally.Done.Set(i, &l[k], s.lay.Schema.Vars[l[k].V].Record)
		}
	}
}

// keptPuts holds puts until the commit that writes them. Process-centric files need keptPuts while the number of records is
// unknown.
type keptPuts struct {
	lay    *Layout
	tally  *tally
	proc   *process.Process
	opt    *dataset.Settings
	lists  [][]Pend
	before [][]Pend // the lists before the commit in progress, to undo it
	freed  int64    // bytes of copies that take has freed
}

// renumber changes the variable ids of the puts to the ids of another schema.
func (s *keptPuts) renumber(was []int32) {
	for _, l := range s.lists {
		for k := range l {
			l[k].V = was[l[k].V]
		}
	}
}

func (e *Engine) giveRoomUp(records int64) error {
	e.opt.Records = 0
	x := e.Pack.x
	if x == nil { // nothing is written yet
		return e.Layout.Settle(records - e.Layout.Base)
	}
	if err := e.takeBack(x, records); err != nil {
		return err
	}
	own := *x.Place // the old layout, which Settle must not change under x
	x.Place = &own
	if err := e.Layout.Settle(records - e.Layout.Base); err != nil {
		return err
	}
	y, err := layout.NewIndex(&e.Layout.Place.Place, e.Layout.Table, e.Pack.chunk)
	if err != nil {
		return fmt.Errorf("%s: %w", e.File.Name, err)
	}
	y.Entries = make([]layout.Entry, y.Total)
	for v, rec := range y.Pieces() {
		for i := range e.Layout.Table.ID {
			from, n, _ := x.Of(v, rec, i)
			to, _, _ := y.Of(v, rec, i)
			k := (n + x.Chunk - 1) / x.Chunk
			copy(y.Entries[to:to+k], x.Entries[from:from+k])
		}
	}
	e.Pack.x = y
	return nil
}

// takeBack reads the puts of records beyond records back from the file, so that they can be written to another file.
func (e *Engine) takeBack(x *layout.Index, records int64) error {
	f, done, err := e.File.Open()
	if err != nil {
		return err
	}
	defer done()
	pl := e.Layout.Place.Clone()
	pl.Packed.Stored = e.Pack.End
	in := unpack.New(pl, e.Layout.Table, x, e.File.Name, e.Proc.Zstd).File(f)
	e.Kept.lists = make([][]Pend, len(e.Layout.Table.ID))
	for rec := records; rec < e.Layout.Base+e.Layout.Place.Blob.Records; rec++ {
		for i := range e.Layout.Table.ID {
			for v := range e.Layout.Schema.Vars {
				sv := &e.Layout.Schema.Vars[v]
				p := Pend{V: int32(v), Rec: rec, Mem: sv.Type}
				if !sv.Record || sv.Decomp == 0 && e.Layout.Table.ID[i] != 0 || !e.Tally.Done.has(i, &p, true) {
					continue
				}
				off, n, _ := e.Layout.spot(i, &p)
				if e.opt.Retain != dataset.LendUntilClose {
					if err := e.Proc.Reserve(n); err != nil {
						return fmt.Errorf("commit: cannot keep %q, record %d, which is incomplete: %w", sv.Name, rec, err)
					}
				}
				p.Raw = make([]byte, n)
				if err := layout.ReadFull(in, p.Raw, off, e.File.Name, sv.Name); err != nil {
					return err
				}
				if e.Layout.Place.Big != dataset.HostBig {
					elem.Swap(p.Raw, p.Raw, sv.Type.Size())
				}
				e.Kept.lists[i] = append(e.Kept.lists[i], p)
			}
		}
	}
	return nil
}
