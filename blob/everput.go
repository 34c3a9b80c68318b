package blob

import (
	"context"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/crccat"
	"blobio/subfile"
)

// findEverPut returns 1 for each record variable that the records before this session hold something else of than fill values, else 0. It is
// derived from the checksums of the extents in the manifest, so it holds after any writer, also a dead one. What cannot be judged counts as put: then
// a variable that is forgotten is held back, and not filled.
func findEverPut(ctx context.Context, w *Writer) []int64 {
	e := w.eng
	put := make([]int64, e.exts.Recs)
	sure := true
	r, err := openWith(ctx, subfile.Name(w.base, 0), &OpenOptions{MaxOpen: w.opt.MaxOpen, Workers: w.opt.Workers, AllowMissing: true}, knobs{fs: w.opt.fs})
	if err == nil {
		defer r.Close()
		sure = r.manifest != nil && r.manifest.ID == w.info.was
	}
	for i := 0; err == nil && sure && i < len(r.sets); i++ {
		s := r.sets[len(r.sets)-1-i] // the last one mostly shows it
		if s.first >= w.first {
			continue
		}
		if !slices.Contains(put, 0) {
			break
		}
		if err = r.loadParts(ctx, s); err != nil {
			break
		}
		for _, p := range s.parts {
			if p.place == nil || p.table == nil {
				sure = false
				continue
			}
			for v := range e.schema.vars {
				sv := &e.schema.vars[v]
				if id, ok := p.place.schema.VarID(sv.Name); ok && sv.Record && put[e.recordVar(v)] == 0 && !onlyFill(p, id, min(s.records, w.first-s.first)) {
					put[e.recordVar(v)] = 1
				}
			}
		}
	}
	if err != nil || !sure {
		for k := range put {
			put[k] = 1
		}
	}
	return put
}

// onlyFill: the extents of the first records of a variable sum to what fill values would.
func onlyFill(p *filePart, id VarID, records int64) bool {
	v, pl := p.place.fileVar(id), p.place
	sv := &pl.schema.vars[id]
	if sv.Decomp != 0 {
		n := int64(0)
		for j := range pl.Shape.Blobs {
			n += p.table.Count[j*pl.NumMaps()+int(sv.Decomp)-1]
		}
		if n == 0 { // the file may have an element that nobody writes
			return true
		}
	}
	crc := fillCRC(sv, pl.Big, pl.ExtentBytes(v, p.table))
	for rec := records - 1; rec >= 0; rec-- {
		x := p.order.Index(v, rec)
		if x >= int64(len(p.info.Extents)) || p.info.Extents[x] != crc {
			return false
		}
	}
	return true
}

// fillCRC is the checksum of n bytes of fill values of a variable, in that byte order.
func fillCRC(sv *Variable, big bool, n int64) uint32 {
	one := make([]byte, sv.Type.Size())
	cdf5.FillBytes(one, sv.Type, orderOf(big), sv.fillAtt())
	return crccat.Repeat(one, n/int64(len(one)))
}
