package blob

import (
	"context"
	"fmt"
	"iter"

	"blobio/blob/internal/layout"
	"blobio/blob/internal/unpack"
	"blobio/cdf5"
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

// Files lists the files of the dataset, without opening them.
func (r *Reader) Files() []File {
	r = r.now()
	var out []File
	for k, s := range r.sets {
		for _, p := range s.parts {
			f := File{Set: k, Index: p.index, Name: p.wanted(), Missing: true}
			if info, err := r.fs.Stat(f.Name); err == nil {
				f.Missing, f.Size = false, info.Size()
			}
			out = append(out, f)
		}
	}
	return out
}

// NetCDF4 says whether the dataset is an ordinary netCDF-4 file, which is read as the equivalent CDF-5 file.
func (r *Reader) NetCDF4() bool { return r.now().sets[0].parts[0].view != nil }

// LeftOut says of everything in a netCDF-4 file that has no place in CDF-5, and so is not in the schema, what it is and why
// it is left out: errors of class ErrUnsupported. It is empty for files of all other kinds.
func (r *Reader) LeftOut() []error {
	if v := r.now().sets[0].parts[0].view; v != nil {
		return v.LeftOut()
	}
	return nil
}

// Version returns the version of the header: CDF5 for both blob layouts, and of a netCDF-4 file.
func (r *Reader) Version() cdf5.Version {
	r = r.now()
	for _, s := range r.sets {
		for _, p := range s.parts {
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
	Records      int64  // that it holds: 1, but for chunks of a netCDF-4 file, of which Record is the first
	Offset       int64  // in the file, in bytes
	Bytes        int64  // rows of D1.offsets and D1.lengths with their padding
	Content      int64  // Bytes, or of a compressed file the bytes that they stand for
	Codec        string // of a compressed file: "none", "zstd" or "shuffle+zstd"; of a netCDF-4 file filters such as "shuffle+deflate"
}

// Extents walks over everything that the dataset's files hold: file by file, in
// the order of the bytes in the file; if they are compressed, in that of a plain file, and the index, which is
// no extent, has Dk.nreqs, Dk.blob_start and Dk.blob_count. A variable that is not
// decomposed is one extent of each subfile, with rank -1. Of a netCDF-4 file it is the chunks, or all of the data, by variable.
func (r *Reader) Extents(ctx context.Context) iter.Seq2[Extent, error] {
	r = r.now()
	return func(yield func(Extent, error) bool) {
		for k, s := range r.sets {
			if err := r.loadSet(ctx, s); err != nil {
				yield(Extent{}, err)
				return
			}
			for _, p := range s.parts {
				if p.place != nil && !p.extents(ctx, k, s, yield) {
					return
				}
			}
		}
	}
}

// extents yields the extents of one file; it returns false to stop.
func (p *filePart) extents(ctx context.Context, k int, s *set, yield func(Extent, error) bool) bool {
	if p.view != nil {
		return p.chunks(ctx, k, yield)
	}
	pl := p.place
	e := Extent{Set: k, Subfile: p.index, File: p.name, Name: "header", Rank: -1, Record: -1, Offset: pl.HeaderOff, Bytes: pl.HeaderLen, Content: pl.HeaderLen}
	if !yield(e, nil) {
		return false
	}
	nmap, records := layout.MapVars*pl.NumMaps(), s.records
	var f vfs.File
	if p.un != nil {
		file, done, err := p.file()
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
			if e.Offset, e.Bytes, e.Content, e.Codec, err = p.un.Stored(f, v, rec, j); err != nil {
				yield(Extent{}, err)
				return false
			}
		}
		return yield(e, nil)
	}
	blob := func(v int, rec int64, j int) bool {
		e.Rank, e.Record, e.Records, e.Map = p.first+j, rec, 0, v < nmap
		if rec >= 0 {
			e.Record, e.Records = s.first+rec, 1
		}
		if e.Map {
			e.Name = fmt.Sprintf("D%d.%s", v/layout.MapVars+1, layout.MapVarDefs[v%layout.MapVars].Name)
			e.Offset, e.Bytes = pl.MapPiece(v/layout.MapVars, v%layout.MapVars, p.table, j)
			return send(e, v, 0, j)
		}
		sv := &pl.schema.vars[v-nmap]
		e.Name = sv.Name
		if sv.Decomp == 0 {
			if e.Rank = -1; j > 0 {
				return true
			}
		}
		e.Offset, e.Bytes = pl.piece(VarID(v-nmap), max(rec, 0), p.table, j)
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
func (p *filePart) chunks(ctx context.Context, k int, yield func(Extent, error) bool) bool {
	for id := range p.place.schema.vars {
		for x, err := range p.view.Pieces(p.place.fileVar(VarID(id))) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Extent{}, err)
				return false
			}
			e := Extent{Set: k, Subfile: p.index, File: p.name, Name: p.place.schema.vars[id].Name, Rank: -1, Record: x.Record, Records: x.Records, Offset: x.Offset, Bytes: x.Bytes,
				Content: x.Content, Codec: x.Codec}
			if !yield(e, nil) {
				return false
			}
		}
	}
	return true
}
