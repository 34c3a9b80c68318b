package read

import (
	"context"
	"fmt"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/unpack"
	"blobio/decomp"
	"blobio/internal/base/fault"
)

// A Spot says where one element of a variable lies.
type Spot struct {
	Set, Subfile int
	File         string     // path
	Record       int64      // of the dataset; -1 if the variable has no records
	Rank         int        // blob number in the whole set; -1 if the variable is not decomposed
	Also         []int      // other ranks that wrote the element; Rank's is the one that is read
	Request      int64      // number of Rank's request that has it, from 0 on; -1 if the variable is not decomposed
	Run          decomp.Req // that request
	Pos          int64      // element of the blob, or of the record of a variable that is not decomposed

	Offset int64 // of the element's bytes in the file; if it is compressed, of the chunk that has them
	Bytes  int64 // of the element, or of the chunk
	Big    bool  // the element is stored with the high byte first

	Codec   string // of a compressed file the codec of the chunk: "none", "zstd" or "shuffle+zstd"; of netCDF-4 its filters, such as "shuffle+deflate"
	Content int64  // bytes that the chunk stands for
	Within  int64  // where the element begins in them
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
			return nil, fault.Usage("%s: index %d of dimension %q of %q, want 0 to %d", r.Files.Base, index[i], r.Data.Schema.Dims[sv.Dims[i]].Name, name, n-1)
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
		return nil, fault.In(gone, "subfile", dataset.ErrMissing, "not there, and it has the element")
	}
	x.Set, x.Subfile, x.File = slices.Index(r.Data.Sets, s), p.Index, p.Name
	if p.View != nil {
		return x.inView(p, id, sv, srec)
	}
	return x, x.place(p, j, id, sv, srec)
}

// owner finds whose the element is.
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

// place finds the bytes, element x.Pos of blob j of a part.
func (x *Spot) place(p *FilePart, j int, id dataset.VarID, sv *dataset.Variable, rec int64) error {
	size := int64(sv.Type.Size())
	off, n := p.Place.Piece(id, rec, p.Table, j)
	x.Offset, x.Bytes, x.Big = off+x.Pos*size, size, p.Place.Big
	if (x.Pos+1)*size > n {
		return fault.At(p.Name, off, fmt.Sprintf("variable %q of blob %d", sv.Name, j), dataset.ErrCorrupt, "%d bytes, but the map gives it an element %d", n, x.Pos)
	}
	f, done, err := p.File()
	if err != nil {
		return err
	}
	defer done()
	if p.Un == nil {
		return p.Place.Backs(f, x.Offset, size, p.Name, fmt.Sprintf("variable %q of blob %d", sv.Name, j))
	}
	x.Offset, x.Bytes, x.Content, x.Within, x.Codec, err = p.Un.Chunk(f.(unpack.File).File, p.Place.FileVar(id), rec, j, x.Pos*size)
	return err
}

// inView is place of a netCDF-4 file. It returns nil if the element was never written.
func (x *Spot) inView(p *FilePart, id dataset.VarID, sv *dataset.Variable, rec int64) (*Spot, error) {
	i := p.Place.FileVar(id)
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
