package write

import (
	"errors"
	"fmt"
	"hash/crc32"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/crccat"
	"blobio/internal/subfile"
)

// unnote drops the notes of puts that have not reached the file.
func (t *tally) unnote(lists [][]Pend) {
	for i, l := range lists {
		for k := range l {
			t.Done.unset(i, &l[k], t.lay.Schema.Vars[l[k].V].Record)
		}
	}
}

// doneSet records the (rank, variable, record) of each put, so that missing values can be filled and a second put is recognised.
// For a complete record, it keeps only one entry without bits.
type doneSet struct {
	ranks, vars int
	whole       int // number of puts in a complete record
	fixed       doneRow
	recs        map[int64]*doneRow
}

// doneRow records which puts of one record, or of the fixed variables, were made.
type doneRow struct {
	n    int      // number of bits set
	bits []uint64 // by rank and variable; nil if the record is complete
}

// newDoneSet makes a doneSet for ranks by local index. id are the sub ranks of these ranks. Only sub rank 0 puts variables
// without a decomposition.
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

// Set notes a put and reports whether it was noted before.
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

func (s *doneSet) unset(rank int, p *Pend, record bool) {
	row := s.row(p, record)
	if row == nil || !s.has(rank, p, record) {
		return
	}
	if row.bits == nil { // the record was complete: set all bits; bits of variables that are never put are harmless
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

// wholeTo returns the first record in [from, limit) that lacks a put, or limit. idle must report whether a rank has no elements
// of a variable.
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

// forget drops the notes of records below rec.
func (s *doneSet) forget(rec int64) {
	for r := range s.recs {
		if r < rec {
			delete(s.recs, r)
		}
	}
}

// complete reports whether all puts of a record are noted.
func (s *doneSet) complete(rec int64) bool {
	row := s.recs[rec]
	return row != nil && row.n == s.whole
}

// wholeTo returns the first record below limit that lacks a put by a rank of this process, or limit. Variables for which never
// returns true do not count; never may be nil.
func (t *tally) wholeTo(limit int64, never func(v int) bool) int64 {
	nd := t.lay.Place.Header.Maps
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

// tally notes the puts that are in the file or will be.
type tally struct {
	lay  *Layout
	From int64 // records with lower numbers are committed
	Done *doneSet
	ever []int64 // 1 for each record variable that ranks of this process have put in this session
}

func (t *tally) start() {
	t.From, t.Done = t.lay.First, newDoneSet(t.lay.Table.ID, t.lay.Schema)
}

// noteEver notes that a variable was put in this session. Fill values do not count.
func (t *tally) noteEver(p *Pend) {
	if p.V < 0 || len(p.Raw) == 0 || !t.lay.Schema.Vars[p.V].Record {
		return
	}
	if t.ever == nil {
		t.ever = make([]int64, t.lay.Exts.Recs)
	}
	t.ever[t.lay.RecordVar(int(p.V))] = 1
}

// Describe returns the manifest's entry of the subfile for records complete records. The entry has the checksums of the
// uncommitted records, and of the fixed variables if these are uncommitted.
func (s *sums) Describe(records int64) (*subfile.Subfile, error) {
	if err := s.resum(records); err != nil {
		return nil, err
	}
	sf := &subfile.Subfile{Size: s.lay.fileSize(records), HeaderOff: s.lay.Place.Header.Off, HeaderLen: s.lay.Place.Header.Len}
	crc, err := writtenHeaderCRC(s.lay.Place)
	if err != nil {
		return nil, err
	}
	sf.HeaderCRC = subfile.CRC(crc)
	sf.Extents, sf.Pieces, err = s.of(!s.lay.Appended, s.tally.From, records)
	return sf, err
}

// of returns the checksums of extents and of their pieces: of the fixed variables if fixed is true, and of records from to to-1.
func (s *sums) of(fixed bool, from, to int64) (extents, pieces subfile.CRCs, err error) {
	for ext, x := range s.lay.Place.Header.Extents(fixed, from-s.lay.First, to-s.lay.First) {
		hv := &s.lay.Place.Header.Vars[x.Var]
		if s.lay.Place.Packed != nil {
			crc, err := s.lay.Place.Packed.Index.Sum(x.Var, x.Rec)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: variable %q: %w", s.file.Name, hv.Name, err)
			}
			extents = append(extents, crc)
			continue
		}
		n := s.lay.Place.Elems(x.Var) * int64(hv.Type.Size())
		crc, fine, ok := s.Set.Whole(ext, n)
		if !ok {
			crc, fine, ok = s.loose(ext, x.Var, n)
		}
		if !ok {
			return nil, nil, fmt.Errorf("%s: variable %q is incomplete", s.file.Name, hv.Name)
		}
		extents = append(extents, crc)
		if !s.Coarse {
			pieces = append(pieces, fine...)
		}
	}
	return extents, pieces, nil
}

// loose returns the checksum of an extent that is not covered by the checksums of the ranks' pieces: a list of a process-centric
// map, whose rows have no padding, or the single element of a map that is empty in this subfile.
func (s *sums) loose(ext int64, v int, n int64) (crc uint32, pieces []uint32, ok bool) {
	s.Set.Mu.Lock()
	defer s.Set.Mu.Unlock()
	l := s.Set.Ext[ext]
	isList := v < s.lay.Place.Header.Maps*layout.MapVars && v%layout.MapVars >= layout.MapOffsets
	if len(l) == 0 && isList && s.lay.Place.ByRank && s.lay.Place.Shape.MaxReqs[v/layout.MapVars] == 0 {
		return 0, nil, true // the checksum of no bytes
	}
	if len(l) == 0 {
		return crccat.Zeros(n), nil, !s.lay.Place.ByRank && s.lay.emptyMapVar(v)
	}
	if s.lay.Place.ByRank && isList {
		crc, pieces, n = s.Set.Joined(ext)
		return crc, pieces, n > 0
	}
	return 0, nil, false
}

// writtenHeaderCRC returns the checksum of the encoded header, in which numrecs is replaced by zeros.
func writtenHeaderCRC(p *dataset.Place) (uint32, error) {
	b, err := p.HeaderBytes(0)
	if err != nil {
		return 0, err
	}
	return crc32.ChecksumIEEE(b), nil
}

// sums are the checksums of the subfile.
type sums struct {
	lay    *Layout
	file   *outFile
	tally  *tally
	Set    *checksum.Set
	Coarse bool // the subfile existed before this session and has no checksums of pieces
}

// resum computes the checksums of extents that were put more than once from the file, because any rank of the subfile may have
// written them last. It closes the file, because not every system can rename an open file.
func (s *sums) resum(records int64) (err error) {
	redo, later := map[int64]bool{}, map[int64]bool{}
	end := s.lay.Exts.First(records - s.lay.First)
	for x := range s.Set.Redo {
		if x < end {
			redo[x] = true
		} else {
			later[x] = true
		}
	}
	if len(redo) == 0 {
		return nil
	}
	f, done, err := s.file.Open()
	if err != nil {
		return err
	}
	defer func() {
		done()
		err = errors.Join(err, s.file.proc.Pool.CloseFile(s.file.Name))
	}()
	s.Set.Redo = later
	t, buf := s.lay.All, make([]byte, 1<<20)
	one := func(i int, p *Pend) error {
		off, n, at := s.lay.spotOf(t, i, p.V, p.Rec)
		for n > 0 {
			b := buf[:min(n, int64(len(buf)))]
			if k, err := f.ReadAt(b, off); k < len(b) {
				return err
			}
			s.Set.Sum(s.lay.extent(p), at, b)
			off, at, n = off+int64(len(b)), at+int64(len(b)), n-int64(len(b))
		}
		return nil
	}
	for v := range s.lay.Schema.Vars {
		lo, hi := int64(0), int64(1)
		if s.lay.Schema.Vars[v].Record {
			lo, hi = s.tally.From, records
		}
		for rec := lo; rec < hi; rec++ {
			p := Pend{V: int32(v), Rec: rec}
			if !redo[s.lay.extent(&p)] {
				continue
			}
			for i := range t.ID {
				if s.lay.Schema.Vars[v].Decomp == 0 && t.ID[i] != 0 {
					continue
				}
				if err := one(i, &p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
