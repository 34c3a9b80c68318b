package write

import (
	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/crccat"
	"blobio/internal/subfile"
	"errors"
	"fmt"
	"hash/crc32"
)

// Describe returns the manifest's entry of a subfile whose records below that number are complete: with the checksums of those that are not
// committed yet, and of the fixed variables if they are not.
func (s *sums) Describe(records int64) (*subfile.Subfile, error) {
	if err := s.resum(records); err != nil {
		return nil, err
	}
	sf := &subfile.Subfile{Size: s.lay.fileSize(records), HeaderOff: s.lay.Place.HeaderOff, HeaderLen: s.lay.Place.HeaderLen}
	crc, err := writtenHeaderCRC(s.lay.Place)
	if err != nil {
		return nil, err
	}
	sf.HeaderCRC = subfile.CRC(crc)
	sf.Extents, sf.Pieces, err = s.of(!s.lay.Appended, s.tally.From, records)
	return sf, err
}

// of returns the checksums of extents, and those of their pieces: of the fixed variables if asked, and of the records from from to to.
func (s *sums) of(fixed bool, from, to int64) (extents, pieces subfile.CRCs, err error) {
	for ext, x := range s.lay.Place.Extents(fixed, from-s.lay.First, to-s.lay.First) {
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
			return nil, nil, fmt.Errorf("%s: variable %q: its bytes were not all written", s.file.Name, hv.Name)
		}
		extents = append(extents, crc)
		if !s.Coarse {
			pieces = append(pieces, fine...)
		}
	}
	return extents, pieces, nil
}

// loose returns the checksum of extents that are not the sum of the ranks'
// pieces: the lists of a process-centric map, whose rows have no padding, and
// the one element of a map that is empty in this subfile.
func (s *sums) loose(ext int64, v int, n int64) (crc uint32, pieces []uint32, ok bool) {
	s.Set.Mu.Lock()
	defer s.Set.Mu.Unlock()
	l := s.Set.Ext[ext]
	isList := v < s.lay.Place.NumMaps()*layout.MapVars && v%layout.MapVars >= layout.MapOffsets
	if len(l) == 0 && isList && s.lay.Place.ByRank && s.lay.Place.Shape.MaxReqs[v/layout.MapVars] == 0 {
		return 0, nil, true // the sum of nothing
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

// writtenHeaderCRC is the checksum of the header with numrecs as zeros.
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
	Coarse bool // appended to what has no checksums of pieces
}

// resum sums anew the extents that were put more than once, from the file: any rank of the subfile may have written them. The file is closed
// then, since not every system renames one that is open.
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
