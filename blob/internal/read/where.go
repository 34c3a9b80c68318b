package read

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/unpack"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Spot is the place of one element of a variable.
type Spot struct {
	Set, Subfile int
	File         string     // path
	Record       int64      // record of the dataset; -1 if the variable has no records
	Rank         int        // blob number in the whole set; -1 if the variable has no decomposition
	Also         []int      // other ranks that wrote the element; reads return the value of Rank
	Request      int64      // index of Rank's request that contains the element; -1 if the variable has no decomposition
	Run          decomp.Req // the request with the index Request
	Pos          int64      // index in the blob, or in the record of a variable without a decomposition

	Offset int64 // file offset of the element, or of its compressed chunk
	Bytes  int64 // size of the element, or of the chunk
	Big    bool  // the element is stored with the high byte first

	Codec   string // codec of the chunk, "none", "zstd" or "shuffle+zstd"; for netCDF-4 the filters, such as "shuffle+deflate"; empty if the file is not compressed
	Content int64  // uncompressed size of the chunk
	Within  int64  // offset of the element in the uncompressed chunk
}

// Where is blob.Inspector.Where.
func (r *Elems) Where(ctx context.Context, name string, index []int64) (*Spot, error) {
	v, ok := r.Data.Schema.VarID(name)
	if !ok {
		return nil, fault.Usage("%s: no variable %q", r.Files.Base, name)
	}
	sv := &r.Data.Schema.Vars[v]
	shape := r.Data.Schema.Shape(v)
	if sv.Record {
		shape = append([]int64{r.Data.Records}, shape...)
	}
	if len(index) != len(shape) {
		return nil, fault.Usage("%s: %d indices of %q, want %d", r.Files.Base, len(index), name, len(shape))
	}
	at := int64(0)
	rec := int64(-1)
	for i, n := range shape {
		if index[i] < 0 || index[i] >= n {
			return nil, fault.Usage("%s: index %d of dimension %q of %q, want %s", r.Files.Base, index[i], r.Data.Schema.Dims[sv.Dims[i]].Name, name, fault.Below(n, "elements"))
		}
		if i == 0 && sv.Record {
			rec = index[0]
		} else {
			at = at*n + index[i]
		}
	}
	s, srec := r.Data.SetOf(v, max(rec, 0))
	if err := s.Load(ctx); err != nil {
		return nil, err
	}
	id, err := s.Variable(v, sv)
	if err != nil || id < 0 {
		return nil, err
	}
	x := &Spot{Record: rec, Rank: -1, Request: -1, Pos: at}
	p, j := s.FirstPart(), 0
	if sv.Decomp != 0 {
		if found, err := x.owner(ctx, r.Maps, s, sv.Decomp, at); err != nil || !found {
			return nil, err
		}
		p, j = s.Owner(x.Rank)
	}
	if p == nil || p.Place == nil {
		gone := r.Files.Base
		if p != nil {
			gone = p.Wanted()
		}
		return nil, fault.In(gone, "subfile", dataset.ErrMissing, "the subfile with this element is missing")
	}
	x.Set, x.Subfile, x.File = slices.Index(r.Data.Sets, s), p.Index, p.Name
	if p.View != nil {
		return x.inView(p, id, sv, srec)
	}
	return x, x.place(p, j, id, sv, srec)
}

// owner finds the owner of the element.
func (x *Spot) owner(ctx context.Context, maps *Maps, s *Set, d dataset.DecompID, at int64) (bool, error) {
	ix, err := maps.Index(ctx, s, d)
	if err != nil {
		return false, err
	}
	m, err := maps.in(ctx, s, d)
	if err != nil {
		return false, err
	}
	o, ok := ix.At(at)
	if !ok {
		return false, nil
	}
	x.Rank, x.Pos = o.Rank, o.Pos
	for rank := range m.Ranks() {
		if lo, hi := m.Bounds(rank); rank == o.Rank || at < lo || at >= hi {
			continue
		}
		for range m.Clip(rank, at, at+1) {
			x.Also = append(x.Also, rank)
			break
		}
	}
	pos := int64(0)
	x.Request = 0
	for q := range m.Reqs(o.Rank) {
		if pos+q.Length > o.Pos {
			x.Run = q
			break
		}
		pos += q.Length
		x.Request++
	}
	return true, nil
}

// place finds the file offset of element x.Pos of blob j of a part.
func (x *Spot) place(p *FilePart, j int, id dataset.VarID, sv *dataset.Variable, rec int64) error {
	size := int64(sv.Type.Size())
	off, n := p.Place.Piece(id, rec, p.Table, j)
	x.Offset, x.Bytes, x.Big = off+x.Pos*size, size, p.Place.Big
	if (x.Pos+1)*size > n {
		return fault.At(p.Name, off, fmt.Sprintf("variable %q of blob %d", sv.Name, j), dataset.ErrCorrupt, "the piece has %d bytes, but the map assigns element %d to the piece", n, x.Pos)
	}
	f, done, err := p.File()
	if err != nil {
		return err
	}
	defer done()
	if p.Un == nil {
		return p.Place.Backs(f, x.Offset, size, p.Name, fmt.Sprintf("variable %q of blob %d", sv.Name, j))
	}
	x.Offset, x.Bytes, x.Content, x.Within, x.Codec, err = p.Un.Chunk(f.(unpack.File).File, p.Place.Header.FileVar(int(id)), rec, j, x.Pos*size)
	return err
}

// inView is place for a netCDF-4 file. If the element was never written, it returns
// nil.
func (x *Spot) inView(p *FilePart, id dataset.VarID, sv *dataset.Variable, rec int64) (*Spot, error) {
	i := p.Place.Header.FileVar(int(id))
	piece, within, ok, err := p.View.Stored(i, rec, x.Pos)
	if err != nil || !ok {
		return nil, err
	}
	x.Big = p.View.Big(i)
	if piece.Codec == "" {
		x.Offset, x.Bytes = piece.Offset+within, int64(sv.Type.Size())
	} else {
		x.Offset, x.Bytes, x.Codec, x.Content, x.Within = piece.Offset, piece.Bytes, piece.Codec, piece.Content, within
	}
	return x, nil
}

// Extent is a range of a file and its content.
type Extent struct {
	Set, Subfile int
	File         string // path
	Name         string // a variable, a map variable such as "D1.offsets", or "header"
	Map          bool   // Name is a map variable
	Rank         int    // blob number in the whole dataset; -1 if the extent belongs to no rank
	Record       int64  // record of the dataset; -1 if there are no records
	Records      int64  // number of records from Record on: 1, or more in a chunk of a netCDF-4 file
	Offset       int64  // in the file
	Bytes        int64  // size in the file; D1.offsets and D1.lengths include the padding of their rows
	Content      int64  // uncompressed size; equal to Bytes if the file is not compressed
	Codec        string // in a compressed file "none", "zstd" or "shuffle+zstd"; in netCDF-4 the filters, such as "shuffle+deflate"
}

// Extents is blob.Reader.Extents.
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

// extents yields the extents of one file. It returns false if yield has asked to stop.
func (p *FilePart) extents(ctx context.Context, k int, s *Set, yield func(Extent, error) bool) bool {
	if p.View != nil {
		return p.chunks(ctx, k, yield)
	}
	pl := p.Place
	e := Extent{Set: k, Subfile: p.Index, File: p.Name, Name: "header", Rank: -1, Record: -1, Offset: pl.Header.Off, Bytes: pl.Header.Len, Content: pl.Header.Len}
	if !yield(e, nil) {
		return false
	}
	nmap, records := layout.MapVars*pl.Header.Maps, s.Records
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

// chunks yields the chunks of a netCDF-4 file as extents.
func (p *FilePart) chunks(ctx context.Context, k int, yield func(Extent, error) bool) bool {
	for id := range p.Place.Schema.Vars {
		for x, err := range p.View.Pieces(p.Place.Header.FileVar(id)) {
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
