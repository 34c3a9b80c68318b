package resume

import (
	"context"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/internal/base/crccat"
	"blobio/internal/subfile"
)

// findEverPut returns 1 for each record variable that has other values than fill values in the records before this session,
// otherwise 0. It uses the checksums of extents in the manifest, so it works after any writer, even a dead one. A variable that
// cannot be judged counts as put. If a put of this variable is missing, the record is then held back instead of being filled.
func findEverPut(ctx context.Context, w *write.Writer) []int64 {
	e := w.Job.Eng
	put := make([]int64, e.Layout.Exts.Recs)
	sure := true
	r, err := read.OpenWith(ctx, subfile.Name(w.Job.Base, 0), &read.OpenOptions{MaxOpen: w.Job.Opt.MaxOpen, Workers: w.Job.Opt.Workers, AllowMissing: true}, dataset.Knobs{Fs: w.Job.Opt.Fs})
	if err == nil {
		defer r.Close()
		sure = r.Files.Manifest != nil && r.Files.Manifest.ID == w.Claim.Was
	}
	for i := 0; err == nil && sure && i < len(r.Data.Sets); i++ {
		s := r.Data.Sets[len(r.Data.Sets)-1-i] // the last set decides for most variables
		if s.First >= w.Puts.First {
			continue
		}
		if !slices.Contains(put, 0) {
			break
		}
		if err = s.LoadParts(ctx); err != nil {
			break
		}
		for _, p := range s.Parts {
			if p.Place == nil || p.Table == nil {
				sure = false
				continue
			}
			for v := range e.Layout.Schema.Vars {
				sv := &e.Layout.Schema.Vars[v]
				if id, ok := p.Place.Schema.VarID(sv.Name); ok && sv.Record && put[e.Layout.RecordVar(v)] == 0 && !onlyFill(p, id, min(s.Records, w.Puts.First-s.First)) {
					put[e.Layout.RecordVar(v)] = 1
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

// onlyFill reports whether a variable has only fill values in its first records, according to the checksums.
func onlyFill(p *read.FilePart, id dataset.VarID, records int64) bool {
	v, pl := p.Place.Header.FileVar(int(id)), p.Place
	sv := &pl.Schema.Vars[id]
	if sv.Decomp != 0 {
		n := int64(0)
		for j := range pl.Shape.Blobs {
			n += p.Table.Count[j*pl.Header.Maps+int(sv.Decomp)-1]
		}
		if n == 0 { // the file may have an element that no rank writes
			return true
		}
	}
	crc := fillCRC(sv, pl.Big, pl.ExtentBytes(v, p.Table))
	for rec := records - 1; rec >= 0; rec-- {
		x := p.Order.Index(v, rec)
		if x >= int64(len(p.Info.Extents)) || p.Info.Extents[x] != crc {
			return false
		}
	}
	return true
}

// fillCRC returns the checksum of n bytes of fill values of a variable, in the given byte order.
func fillCRC(sv *dataset.Variable, big bool, n int64) uint32 {
	one := make([]byte, sv.Type.Size())
	cdf5.FillBytes(one, sv.Type, dataset.OrderOf(big), sv.FillAtt())
	return crccat.Repeat(one, n/int64(len(one)))
}
