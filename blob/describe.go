package blob

import (
	"encoding/json"
	"hash/crc32"

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
	d := described{Prints: make([]int64, e.place.nd())}
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
			e.sums.again(x)
		}
		for _, s := range o.segs {
			e.sums.add(s.ext, s.seg)
		}
		rows = append(rows, o.rows)
		for i, id := range o.ids {
			for int64(len(blobs)) <= id {
				blobs = append(blobs, 0)
			}
			blobs[id] = o.blobs[i]
		}
	}
	if e.team != nil && e.pack != nil {
		if err := e.sealTeam(rows, records-e.recBase(), w.opt.Durability != DurableNone); err != nil {
			return nil, err
		}
	} else if e.team != nil { // what was put again may have been written by any rank
		if err := e.resum(e.team.all, records); err != nil {
			return nil, err
		}
	}
	sf, err := e.describe(records, w.info.old)
	if err != nil {
		return nil, err
	}
	if w.opt.Layout == ProcessCentric {
		sf.Blobs = append(blobs, e.place.dataOff+e.place.dataLen)
	}
	d.Subfile = sf
	return json.Marshal(d)
}

// extentLen is the length in bytes of extent k (fixed and map variables, then
// one record after the other) as ExtentIndex counts, and its name.
func (p *place) extentLen(fileVar int) int64 {
	h := p.hdr
	if p.layout == ProcessCentric {
		// the padding of rows, and the element of an empty map, are not there
		if fileVar >= p.nd()*mapVars {
			if d := p.schema.vars[fileVar-p.nd()*mapVars].Decomp; d != 0 {
				return p.shape.nelems[d-1] * int64(h.Vars[fileVar].Type.Size())
			}
		}
	}
	return h.Elems(fileVar) * int64(h.Vars[fileVar].Type.Size())
}

// describe returns the manifest's entry of a complete subfile.
func (e *engine) describe(records int64, old *subfile.Manifest) (*subfile.Subfile, error) {
	sf := &subfile.Subfile{Size: e.place.fileSize(records), HeaderOff: e.place.hdrOff, HeaderLen: e.place.hdrLen}
	crc, err := e.place.headerCRC()
	if err != nil {
		return nil, err
	}
	sf.HeaderCRC = subfile.CRC(crc)
	grow := old != nil && e.place.layout == VariableCentric
	fine := true // whether all extents can have checksums of pieces
	var fixed, recs []int
	for v := range e.place.hdr.Vars {
		if e.place.hdr.IsRecord(v) {
			recs = append(recs, v)
		} else {
			fixed = append(fixed, v)
		}
	}
	add := func(ext int64, v int, rec int64) error {
		if e.pack != nil {
			crc, err := e.place.packed.x.sum(v, rec)
			if err != nil {
				return pkg.Errorf("%s: variable %q: %w", e.name, e.place.hdr.Vars[v].Name, err)
			}
			sf.Extents = append(sf.Extents, crc)
			return nil
		}
		n := e.place.extentLen(v)
		crc, pieces, ok := e.sums.whole(ext, n)
		if !ok {
			if crc, pieces, ok = e.loose(ext, v, n); !ok {
				return pkg.Errorf("%s: variable %q: its bytes were not all written", e.name, e.place.hdr.Vars[v].Name)
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
		fine = int64(len(was.Pieces)) == e.place.pieces(e.table, e.sums.piece).total(old.Records) // an older program left them out
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
	e.sums.mu.Lock()
	defer e.sums.mu.Unlock()
	l := e.sums.ext[ext]
	isList := v < e.place.nd()*mapVars && v%mapVars >= mapOffsets
	if len(l) == 0 && isList && e.place.layout == ProcessCentric && e.place.shape.maxReqs[v/mapVars] == 0 {
		return 0, nil, true // the sum of nothing
	}
	if len(l) == 0 {
		return crccat.Zeros(n), nil, e.place.layout == VariableCentric && e.emptyMapVar(v)
	}
	if e.place.layout == ProcessCentric && isList {
		crc, pieces, n = e.sums.joined(ext)
		return crc, pieces, n > 0
	}
	return 0, nil, false
}

func (e *engine) emptyMapVar(v int) bool {
	v -= e.place.nd() * mapVars
	if v < 0 {
		return false
	}
	d := e.schema.vars[v].Decomp
	return d != 0 && e.place.shape.nelems[d-1] == 0
}

// headerCRC is the checksum of the header with numrecs as zeros.
func (p *place) headerCRC() (uint32, error) {
	b, err := p.headerBytes(0)
	if err != nil {
		return 0, err
	}
	return crc32.ChecksumIEEE(b), nil
}
