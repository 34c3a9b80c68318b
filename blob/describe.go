package blob

import (
	"encoding/json"
	"hash/crc32"

	"blobio/blob/internal/layout"
	"blobio/internal/crccat"
	"blobio/subfile"
)

// described is what the first rank of a subfile tells world rank 0.
type described struct {
	Prints  []int64          `json:"prints"` // sums over its ranks
	Subfile *subfile.Subfile `json:"subfile"`
}

// describe describes the subfile of which this is the first rank.
func (w *Writer) describe(told [][]byte, records int64) ([]byte, error) {
	e := w.eng
	var blobs []int64
	var rows [][]byte
	d := described{Prints: make([]int64, e.place.NumMaps())}
	for r, b := range told {
		var o sealed
		if err := o.parse(b); err != nil {
			return nil, pkg.Errorf("%s: checksums of sub rank %d: %w", e.name, r, err)
		}
		if o.err != nil {
			return nil, pkg.Errorf("%s: sub rank %d: %w", e.name, r, o.err)
		}
		for k := range min(len(o.prints), len(d.Prints)) {
			d.Prints[k] += o.prints[k]
		}
		for _, x := range o.redo {
			e.sums.Again(x)
		}
		for _, s := range o.segs {
			e.sums.Add(s.ext, s.Seg)
		}
		rows = append(rows, o.rows)
		for i, id := range o.ids {
			for int64(len(blobs)) <= id {
				blobs = append(blobs, 0)
			}
			blobs[id] = o.blobs[i]
		}
	}
	if !e.team.one() && e.pack != nil {
		if err := e.sealTeam(rows, records-e.recBase(), w.opt.Durability != DurableNone); err != nil {
			return nil, err
		}
	}
	sf, err := e.describe(records, w.info.old)
	if err != nil {
		return nil, err
	}
	sf.Blobs = e.place.ManifestBlobs(blobs)
	d.Subfile = sf
	return json.Marshal(d)
}

// describe returns the manifest's entry of a complete subfile.
func (e *engine) describe(records int64, old *subfile.Manifest) (*subfile.Subfile, error) {
	if err := e.resum(records); err != nil {
		return nil, err
	}
	sf := &subfile.Subfile{Size: e.place.FileSize(records), HeaderOff: e.place.HeaderOff, HeaderLen: e.place.HeaderLen}
	crc, err := e.place.headerCRC()
	if err != nil {
		return nil, err
	}
	sf.HeaderCRC = subfile.CRC(crc)
	grow := old != nil && e.place.Grows
	fine := true // whether all extents can have checksums of pieces
	var fixed, recs []int
	for v := range e.place.Header.Vars {
		if e.place.Header.IsRecord(v) {
			recs = append(recs, v)
		} else {
			fixed = append(fixed, v)
		}
	}
	add := func(ext int64, v int, rec int64) error {
		if e.pack != nil {
			crc, err := e.place.Packed.Index.Sum(v, rec)
			if err != nil {
				return pkg.Errorf("%s: variable %q: %w", e.name, e.place.Header.Vars[v].Name, err)
			}
			sf.Extents = append(sf.Extents, crc)
			return nil
		}
		n := e.place.Elems(v) * int64(e.place.Header.Vars[v].Type.Size())
		crc, pieces, ok := e.sums.Whole(ext, n)
		if !ok {
			if crc, pieces, ok = e.loose(ext, v, n); !ok {
				return pkg.Errorf("%s: variable %q: its bytes were not all written", e.name, e.place.Header.Vars[v].Name)
			}
		}
		sf.Extents = append(sf.Extents, crc)
		if fine {
			sf.Pieces = append(sf.Pieces, pieces...)
		}
		return nil
	}
	if grow {
		was := &old.Sets[0].Subfiles[e.index]
		sf.Extents = append(sf.Extents, was.Extents...)
		sf.Pieces = append(sf.Pieces, was.Pieces...)
		fine = int64(len(was.Pieces)) == e.place.Pieces(e.table, e.sums.Piece).Total(old.Records) // an older program left them out
	} else {
		for k, v := range fixed {
			if err := add(int64(k), v, 0); err != nil {
				return nil, err
			}
		}
	}
	for rec := range records - e.first {
		for k, v := range recs {
			if err := add(subfile.ExtentIndex(e.fixedN, e.recN, k, true, rec), v, rec); err != nil {
				return nil, err
			}
		}
	}
	return sf, nil
}

// loose returns the checksum of extents that are not the sum of the ranks'
// pieces: the lists of a process-centric map, whose rows have no padding, and
// the one element of a map that is empty in this subfile.
func (e *engine) loose(ext int64, v int, n int64) (crc uint32, pieces []uint32, ok bool) {
	e.sums.Mu.Lock()
	defer e.sums.Mu.Unlock()
	l := e.sums.Ext[ext]
	isList := v < e.place.NumMaps()*layout.MapVars && v%layout.MapVars >= layout.MapOffsets
	if len(l) == 0 && isList && e.place.ByRank && e.place.Shape.MaxReqs[v/layout.MapVars] == 0 {
		return 0, nil, true // the sum of nothing
	}
	if len(l) == 0 {
		return crccat.Zeros(n), nil, !e.place.ByRank && e.emptyMapVar(v)
	}
	if e.place.ByRank && isList {
		crc, pieces, n = e.sums.Joined(ext)
		return crc, pieces, n > 0
	}
	return 0, nil, false
}

func (e *engine) emptyMapVar(v int) bool {
	v -= e.place.NumMaps() * layout.MapVars
	if v < 0 {
		return false
	}
	d := e.schema.vars[v].Decomp
	return d != 0 && e.place.Shape.Elems[d-1] == 0
}

// headerCRC is the checksum of the header with numrecs as zeros.
func (p *place) headerCRC() (uint32, error) {
	b, err := p.HeaderBytes(0)
	if err != nil {
		return 0, err
	}
	return crc32.ChecksumIEEE(b), nil
}
