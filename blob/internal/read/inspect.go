package read

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/unpack"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// A File is one file of a dataset.
type File struct {
	Set     int    // 0, or the number of the append that made it (process-centric)
	Index   int    // subfile number within the set
	Name    string // path; of a missing file the one that it should have
	Missing bool
	Size    int64 // bytes, 0 if it is missing
}

// List lists the files of the dataset, without opening them.
func (r *Data) List() []File {
	var out []File
	for k, s := range r.Sets {
		for _, p := range s.Parts {
			f := File{Set: k, Index: p.Index, Name: p.Wanted(), Missing: true}
			if info, err := r.Files.Fs.Stat(f.Name); err == nil {
				f.Missing, f.Size = false, info.Size()
			}
			out = append(out, f)
		}
	}
	return out
}

// NetCDF4 reports whether the dataset is an ordinary netCDF-4 file, which is read as the equivalent CDF-5 file.
func (r *Data) NetCDF4() bool { return r.Sets[0].Parts[0].View != nil }

// LeftOut is blob.Reader.LeftOut.
func (r *Data) LeftOut() []error {
	if v := r.Sets[0].Parts[0].View; v != nil {
		return v.LeftOut()
	}
	return nil
}

// Version returns the version of the header: CDF5 for both blob layouts, and of a netCDF-4 file.
func (r *Data) Version() cdf5.Version {
	for _, s := range r.Sets {
		for _, p := range s.Parts {
			if pl := p.header(); pl != nil {
				return pl.Header.Version
			}
		}
	}
	return 0
}

// An Extent is a piece of a file and what it holds.
type Extent struct {
	Set, Subfile int
	File         string // path
	Name         string // a variable, a map variable such as "D1.offsets", or "header"
	Map          bool   // Name is a map variable
	Rank         int    // blob number in the whole dataset, -1 if it belongs to no rank
	Record       int64  // of the dataset; -1 for what has no records
	Records      int64  // that it holds: 1, but a chunk of a netCDF-4 file may hold more, from Record on
	Offset       int64  // in the file, in bytes
	Bytes        int64  // rows of D1.offsets and D1.lengths with their padding
	Content      int64  // Bytes, or of a compressed file the bytes that they stand for
	Codec        string // of a compressed file: "none", "zstd" or "shuffle+zstd"; of a netCDF-4 file filters such as "shuffle+deflate"
}

// Extents is blob.Inspector.Extents.
func (r *Data) Extents(ctx context.Context) iter.Seq2[Extent, error] {
	return func(yield func(Extent, error) bool) {
		for k, s := range r.Sets {
			if err := s.Load(ctx); err != nil {
				yield(Extent{}, err)
				return
			}
			for _, p := range s.Parts {
				if p.Place != nil && !p.extents(ctx, k, s, yield) {
					return
				}
			}
		}
	}
}

// extents yields the extents of one file; it returns false to stop.
func (p *FilePart) extents(ctx context.Context, k int, s *Set, yield func(Extent, error) bool) bool {
	if p.View != nil {
		return p.chunks(ctx, k, yield)
	}
	pl := p.Place
	e := Extent{Set: k, Subfile: p.Index, File: p.Name, Name: "header", Rank: -1, Record: -1, Offset: pl.HeaderOff, Bytes: pl.HeaderLen, Content: pl.HeaderLen}
	if !yield(e, nil) {
		return false
	}
	nmap, records := layout.MapVars*pl.NumMaps(), s.Records
	var f vfs.File
	if p.Un != nil {
		file, done, err := p.File()
		if err != nil {
			yield(Extent{}, err)
			return false
		}
		defer done()
		f = file.(unpack.File).File
	}
	send := func(e Extent, v int, rec int64, j int) bool {
		e.Content = e.Bytes
		if f != nil {
			var err error
			if e.Offset, e.Bytes, e.Content, e.Codec, err = p.Un.Stored(f, v, rec, j); err != nil {
				yield(Extent{}, err)
				return false
			}
		}
		return yield(e, nil)
	}
	blob := func(v int, rec int64, j int) bool {
		e.Rank, e.Record, e.Records, e.Map = p.First+j, rec, 0, v < nmap
		if rec >= 0 {
			e.Record, e.Records = s.First+rec, 1
		}
		if e.Map {
			e.Name = fmt.Sprintf("D%d.%s", v/layout.MapVars+1, layout.MapVarDefs[v%layout.MapVars].Name)
			e.Offset, e.Bytes = pl.MapPiece(v/layout.MapVars, v%layout.MapVars, p.Table, j)
			return send(e, v, 0, j)
		}
		sv := &pl.Schema.Vars[v-nmap]
		e.Name = sv.Name
		if sv.Decomp == 0 {
			if e.Rank = -1; j > 0 {
				return true
			}
		}
		e.Offset, e.Bytes = pl.Piece(dataset.VarID(v-nmap), max(rec, 0), p.Table, j)
		return send(e, v, max(rec, 0), j)
	}
	more := true
	pl.Each(records, func(v int, rec int64, j int) bool {
		if err := ctx.Err(); err != nil {
			yield(Extent{}, err)
			more = false
		} else {
			more = blob(v, rec, j)
		}
		return more
	})
	return more
}

// chunks yields the extents of a netCDF-4 file.
func (p *FilePart) chunks(ctx context.Context, k int, yield func(Extent, error) bool) bool {
	for id := range p.Place.Schema.Vars {
		for x, err := range p.View.Pieces(p.Place.FileVar(dataset.VarID(id))) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Extent{}, err)
				return false
			}
			e := Extent{Set: k, Subfile: p.Index, File: p.Name, Name: p.Place.Schema.Vars[id].Name, Rank: -1, Record: x.Record, Records: x.Records, Offset: x.Offset, Bytes: x.Bytes,
				Content: x.Content, Codec: x.Codec}
			if !yield(e, nil) {
				return false
			}
		}
	}
	return true
}

// StoredHeader is blob.Inspector.StoredHeader.
func (r *Data) StoredHeader(f File) (*cdf5.Header, error) {
	p, err := r.storedPart(f)
	if err != nil {
		return nil, err
	}
	if err := p.Load(); err != nil {
		return nil, err
	}
	h := *p.header().Header
	if h.NumRecs == cdf5.Streaming {
		h.NumRecs = p.Records
	}
	return &h, nil
}

// StoredMap is blob.Inspector.StoredMap.
func (r *Maps) StoredMap(ctx context.Context, f File, d dataset.DecompID) (start, count []int64, lists [][]decomp.Req, err error) {
	p, err := r.Data.storedPart(f)
	if err != nil {
		return nil, nil, nil, err
	}
	if d < 1 || int(d) > r.Data.Schema.NumDecomps() {
		return nil, nil, nil, fault.Usage("decomposition D%d, want D1..D%d", d, r.Data.Schema.NumDecomps())
	}
	if err := r.Data.Sets[f.Set].LoadParts(ctx); err != nil {
		return nil, nil, nil, err
	}
	if p.bad != nil {
		return nil, nil, nil, p.bad
	}
	nd, nb := p.Place.NumMaps(), p.Place.Shape.Blobs
	for j := range nb {
		start, count = append(start, p.Table.Start[j*nd+int(d)-1]), append(count, p.Table.Count[j*nd+int(d)-1])
	}
	lists = make([][]decomp.Req, nb)
	err = p.readRequests(ctx, int(d)-1, func(j int, reqs []decomp.Req) error {
		lists[j] = slices.Clone(reqs)
		return nil
	})
	return start, count, lists, err
}

// storedPart is a file of the dataset that is there.
func (r *Data) storedPart(f File) (*FilePart, error) {
	for k, s := range r.Sets {
		for _, p := range s.Parts {
			if k != f.Set || p.Index != f.Index {
				continue
			}
			if p.Gone() {
				return nil, fault.In(p.Wanted(), "subfile", dataset.ErrMissing, "not there")
			}
			return p, nil
		}
	}
	return nil, fault.Usage("%s has no subfile %d in set %d", r.Files.Base, f.Index, f.Set)
}
