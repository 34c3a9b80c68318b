package write

import (
	"blobio/blob/internal/dataset"
)

// unnote forgets puts that were noted as done, and have not come to the file.
func (t *tally) unnote(lists [][]Pend) {
	for i, l := range lists {
		for k := range l {
			t.Done.unset(i, &l[k], t.lay.Schema.Vars[l[k].V].Record)
		}
	}
}

// doneSet remembers which (rank, variable, record) were put, so that the rest
// can be filled, and a second put of the same is known as one. A record that
// all ranks have put completely costs nothing more than its entry.
type doneSet struct {
	ranks, vars int
	whole       int // puts that make a record complete
	fixed       doneRow
	recs        map[int64]*doneRow
}

// doneRow is what was put of one record, or of the fixed variables.
type doneRow struct {
	n    int      // how many are set
	bits []uint64 // by rank and variable; nil if the record is complete
}

// newDoneSet is for ranks by local index, id their sub ranks: only sub rank 0
// puts variables that are not decomposed.
func newDoneSet(id []int, s *dataset.Schema) *doneSet {
	d := &doneSet{ranks: len(id), vars: len(s.Vars), recs: map[int64]*doneRow{}}
	for i := range s.Vars {
		switch {
		case !s.Vars[i].Record:
		case s.Vars[i].Decomp != 0:
			d.whole += len(id)
		case len(id) > 0 && id[0] == 0:
			d.whole++
		}
	}
	return d
}

func (s *doneSet) row(p *Pend, record bool) *doneRow {
	if !record {
		return &s.fixed
	}
	return s.recs[p.Rec]
}

// Set notes a put and reports whether it was there before.
func (s *doneSet) Set(rank int, p *Pend, record bool) (again bool) {
	row := s.row(p, record)
	if row == nil {
		row = new(doneRow)
		s.recs[p.Rec] = row
	}
	if record && row.n == s.whole {
		return true
	}
	if row.bits == nil {
		row.bits = make([]uint64, (s.ranks*s.vars+63)/64)
	}
	k := rank*s.vars + int(p.V)
	if row.bits[k/64]>>(k%64)&1 != 0 {
		return true
	}
	row.bits[k/64] |= 1 << (k % 64)
	if row.n++; record && row.n == s.whole {
		row.bits = nil
	}
	return false
}

// unset forgets a put.
func (s *doneSet) unset(rank int, p *Pend, record bool) {
	row := s.row(p, record)
	if row == nil || !s.has(rank, p, record) {
		return
	}
	if row.bits == nil { // it is complete; what is never put counts nowhere
		row.bits = make([]uint64, (s.ranks*s.vars+63)/64)
		for k := range row.bits {
			row.bits[k] = ^uint64(0)
		}
	}
	k := rank*s.vars + int(p.V)
	row.bits[k/64] &^= 1 << (k % 64)
	row.n--
}

func (s *doneSet) has(rank int, p *Pend, record bool) bool {
	row := s.row(p, record)
	if row == nil || row.n == 0 {
		return false
	}
	k := rank*s.vars + int(p.V)
	return row.bits == nil || row.bits[k/64]>>(k%64)&1 != 0
}

// wholeTo returns the first record, from the given one on and at most limit, that lacks a put. idle reports whether a rank has
// no bytes of a variable.
func (s *doneSet) wholeTo(from, limit int64, idle func(rank, v int) bool) int64 {
	for ; from < limit && (s.complete(from) || s.lacksNothing(from, idle)); from++ {
	}
	return from
}

func (s *doneSet) lacksNothing(rec int64, idle func(rank, v int) bool) bool {
	for rank := range s.ranks {
		for v := range s.vars {
			if p := (Pend{V: int32(v), Rec: rec}); !s.has(rank, &p, true) && !idle(rank, v) {
				return false
			}
		}
	}
	return true
}

// forget drops records below the one.
func (s *doneSet) forget(rec int64) {
	for r := range s.recs {
		if r < rec {
			delete(s.recs, r)
		}
	}
}

// complete reports whether everything of a record was put.
func (s *doneSet) complete(rec int64) bool {
	row := s.recs[rec]
	return row != nil && row.n == s.whole
}

// wholeTo returns the first record, at most limit, that lacks a put by a rank of this process, but for variables that nobody has
// ever put; never may be nil.
func (t *tally) wholeTo(limit int64, never func(v int) bool) int64 {
	nd := t.lay.Place.NumMaps()
	return t.Done.wholeTo(t.From, limit, func(rank, v int) bool {
		switch sv := &t.lay.Schema.Vars[v]; {
		case !sv.Record || never != nil && never(v):
			return true
		case sv.Decomp != 0:
			return t.lay.Table.Count[rank*nd+int(sv.Decomp)-1] == 0
		}
		return t.lay.Table.ID[rank] != 0
	})
}

// tally notes which puts the file has, or will have.
type tally struct {
	lay  *Layout
	From int64 // records below are committed
	Done *doneSet
	ever []int64 // 1 for each record variable that ranks of this process have put in this session
}

func (t *tally) start() {
	t.From, t.Done = t.lay.First, newDoneSet(t.lay.Table.ID, t.lay.Schema)
}

// noteEver remembers that a variable was put; what is filled was not.
func (t *tally) noteEver(p *Pend) {
	if p.V < 0 || len(p.Raw) == 0 || !t.lay.Schema.Vars[p.V].Record {
		return
	}
	if t.ever == nil {
		t.ever = make([]int64, t.lay.Exts.Recs)
	}
	t.ever[t.lay.RecordVar(int(p.V))] = 1
}
