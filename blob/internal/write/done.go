package write

import (
	"blobio/blob/internal/dataset"
)

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

// Set notes a put and says whether it was there before.
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

// wholeTo returns the first record from the one on, at most limit, of which something was not put. idle says of what a rank has
// no bytes of.
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
