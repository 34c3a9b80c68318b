package blob

import (
	"encoding/json"
	"fmt"
	"hash/crc32"

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
func (w *Writer) describe(told [][]byte, records int64) ([]byte, error) {
	e := w.eng
	var blobs []int64
	var rows [][]byte
	d := described{Prints: make([]int64, e.place.NumMaps())}
	for r, b := range told {
		var o sealed
		if err := o.parse(b); err != nil {
			return nil, fmt.Errorf("%s: checksums of sub rank %d: %w", e.name, r, err)
		}
		if o.err != nil {
			return nil, comm.MetBy(w.c, o.rank, o.err)
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
	if !e.team.one() && e.pack != nil {
		if err := e.sealTeam(rows, records-e.base, w.opt.Durability != DurableNone); err != nil {
			return nil, err
		}
	}
	sf, err := e.describe(records)
	if err != nil {
		return nil, err
	}
	sf.Blobs = e.place.ManifestBlobs(blobs)
	d.Subfile = sf
	return json.Marshal(d)
}

// describe returns the manifest's entry of a subfile whose records below that number are complete: with the checksums of those that are not
// committed yet, and of the fixed variables if they are not.
func (e *engine) describe(records int64) (*subfile.Subfile, error) {
	if err := e.resum(records); err != nil {
		return nil, err
	}
	sf := &subfile.Subfile{Size: e.fileSize(records), HeaderOff: e.place.HeaderOff, HeaderLen: e.place.HeaderLen}
	crc, err := writtenHeaderCRC(e.place)
	if err != nil {
		return nil, err
	}
	sf.HeaderCRC = subfile.CRC(crc)
	sf.Extents, sf.Pieces, err = e.sumsOf(!e.appended, e.from, records)
	return sf, err
}

// sumsOf returns the checksums of extents, and those of their pieces: of the fixed variables if asked, and of the records from from to to.
func (e *engine) sumsOf(fixed bool, from, to int64) (extents, pieces subfile.CRCs, err error) {
	for ext, x := range e.place.Extents(fixed, from-e.first, to-e.first) {
		hv := &e.place.Header.Vars[x.Var]
		if e.pack != nil {
			crc, err := e.place.Packed.Index.Sum(x.Var, x.Rec)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: variable %q: %w", e.name, hv.Name, err)
			}
			extents = append(extents, crc)
			continue
		}
		n := e.place.Elems(x.Var) * int64(hv.Type.Size())
		crc, fine, ok := e.sums.Whole(ext, n)
		if !ok {
			crc, fine, ok = e.loose(ext, x.Var, n)
		}
		if !ok {
			return nil, nil, fmt.Errorf("%s: variable %q: its bytes were not all written", e.name, hv.Name)
		}
		extents = append(extents, crc)
		if !e.coarse {
			pieces = append(pieces, fine...)
		}
	}
	return extents, pieces, nil
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

// writtenHeaderCRC is the checksum of the header with numrecs as zeros.
func writtenHeaderCRC(p *place) (uint32, error) {
	b, err := p.HeaderBytes(0)
	if err != nil {
		return 0, err
	}
	return crc32.ChecksumIEEE(b), nil
}
