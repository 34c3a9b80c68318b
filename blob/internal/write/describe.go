package write

import (
	"encoding/json"
	"fmt"
	"hash/crc32"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/internal/base/crccat"
	"blobio/subfile"
)

// described is what the first rank of a subfile tells world rank 0.
type described struct {
	Err     []byte           `json:"err,omitempty"` // as comm.EncodeError makes it; the rest is not known then
	Rank    int              `json:"rank"`          // with Err: the world rank that met it
	Prints  []int64          `json:"prints"`        // sums over its ranks
	Subfile *subfile.Subfile `json:"subfile"`
}

// describe describes the subfile of which this is the first rank.
func (c *commits) describe(told [][]byte, records int64) ([]byte, error) {
	e := c.job.Eng
	var blobs []int64
	var rows [][]byte
	d := described{Prints: make([]int64, e.Layout.Place.NumMaps())}
	for r, b := range told {
		var o sealed
		if err := o.parse(b); err != nil {
			return nil, fmt.Errorf("%s: checksums of sub rank %d: %w", e.File.Name, r, err)
		}
		if o.err != nil {
			return nil, comm.MetBy(c.job.C, o.rank, o.err)
		}
		for k := range min(len(o.prints), len(d.Prints)) {
			d.Prints[k] += o.prints[k]
		}
		o.giveSums(e)
		rows = append(rows, o.rows)
		for i, id := range o.ids {
			for int64(len(blobs)) <= id {
				blobs = append(blobs, 0)
			}
			blobs[id] = o.blobs[i]
		}
	}
	if !e.team.one() && e.Pack != nil {
		if err := e.sealTeam(rows, records-e.Layout.Base, c.job.Opt.Durability != dataset.DurableNone); err != nil {
			return nil, err
		}
	}
	sf, err := e.Sums.Describe(records)
	if err != nil {
		return nil, err
	}
	sf.Blobs = e.Layout.Place.ManifestBlobs(blobs)
	d.Subfile = sf
	return json.Marshal(d)
}

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

// sumsOf returns the checksums of extents, and those of their pieces: of the fixed variables if asked, and of the records from from to to.
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

func (l *Layout) emptyMapVar(v int) bool {
	v -= l.Place.NumMaps() * layout.MapVars
	if v < 0 {
		return false
	}
	d := l.Schema.Vars[v].Decomp
	return d != 0 && l.Place.Shape.Elems[d-1] == 0
}

// writtenHeaderCRC is the checksum of the header with numrecs as zeros.
func writtenHeaderCRC(p *dataset.Place) (uint32, error) {
	b, err := p.HeaderBytes(0)
	if err != nil {
		return 0, err
	}
	return crc32.ChecksumIEEE(b), nil
}
