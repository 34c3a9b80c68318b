package blob

// doneSet remembers which (rank, variable, record) were put, so that the rest
// can be filled, and a second put of the same is known as one. A record that
// all ranks have put completely costs nothing more than its entry.
type doneSet struct {
	ranks, vars int
	fixed       []uint64
	recs        map[int64][]uint64
}

func newDoneSet(ranks, vars int) *doneSet {
	return &doneSet{ranks: ranks, vars: vars, recs: map[int64][]uint64{}}
}

func (s *doneSet) words() int { return (s.ranks*s.vars + 63) / 64 }

func (s *doneSet) row(p *pend, record bool) []uint64 {
	if !record {
		return s.fixed
	}
	return s.recs[p.rec]
}

// set notes a put and says whether it was there before.
func (s *doneSet) set(rank int, p *pend, record bool) (again bool) {
	row := s.row(p, record)
	if row == nil {
		row = make([]uint64, s.words())
		if record {
			s.recs[p.rec] = row
		} else {
			s.fixed = row
		}
	}
	k := rank*s.vars + int(p.v)
	again = row[k/64]>>(k%64)&1 != 0
	row[k/64] |= 1 << (k % 64)
	return again
}

func (s *doneSet) note(rank int, p *pend, record bool) { s.set(rank, p, record) }

func (s *doneSet) has(rank int, p *pend, record bool) bool {
	row := s.row(p, record)
	k := rank*s.vars + int(p.v)
	return row != nil && row[k/64]>>(k%64)&1 != 0
}
