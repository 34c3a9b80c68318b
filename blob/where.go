package blob

import (
	"context"
	"fmt"
	"slices"

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

	Codec   string // of a compressed file that of the chunk: "none", "zstd" or "shuffle+zstd"; of netCDF-4 its filters, such as "shuffle+deflate"
	Content int64  // bytes that the chunk stands for
	Within  int64  // where the element begins in them
}

// Where finds one element by its indices, slowest dimension first, the record included. It returns nil if nobody wrote
// the element; a subfile that is not there is ErrMissing.
func (r *Reader) Where(ctx context.Context, name string, index []int64) (*Spot, error) {
	r = r.now()
	v, ok := r.schema.VarID(name)
	if !ok {
		return nil, fault.Usage("%s: no variable %q", r.base, name)
	}
	sv := &r.schema.vars[v]
	shape := r.schema.Shape(v)
	if sv.Record {
		shape = append([]int64{r.records}, shape...)
	}
	if len(index) != len(shape) {
		return nil, fault.Usage("%s: %d indices of %q, want %d", r.base, len(index), name, len(shape))
	}
	at := int64(0)
	rec := int64(-1)
	for i, n := range shape {
		if index[i] < 0 || index[i] >= n {
			return nil, fault.Usage("%s: index %d of dimension %q of %q, want 0 to %d", r.base, index[i], r.schema.dims[sv.Dims[i]].Name, name, n-1)
		}
		if i == 0 && sv.Record {
			rec = index[0]
		} else {
			at = at*n + index[i]
		}
	}
	s, srec := r.setOf(v, max(rec, 0))
	if err := r.loadSet(ctx, s); err != nil {
		return nil, err
	}
	id, err := s.variable(v, sv)
	if err != nil || id < 0 {
		return nil, err
	}
	x := &Spot{Record: rec, Rank: -1, Request: -1, Pos: at}
	p, j := s.firstPart(), 0
	if sv.Decomp != 0 {
		if found, err := x.owner(ctx, r, s, sv.Decomp, at); err != nil || !found {
			return nil, err
		}
		p, j = s.owner(x.Rank)
	}
	if p == nil || p.place == nil {
		gone := r.base
		if p != nil {
			gone = p.wanted()
		}
		return nil, fault.In(gone, "subfile", ErrMissing, "not there, and it has the element")
	}
	x.Set, x.Subfile, x.File = slices.Index(r.sets, s), p.index, p.name
	if p.view != nil {
		return x.inView(p, id, sv, srec)
	}
	return x, x.place(p, j, id, sv, srec)
}

// owner finds whose the element is.
func (x *Spot) owner(ctx context.Context, r *Reader, s *set, d DecompID, at int64) (bool, error) {
	ix, err := r.mapIndex(ctx, s, d)
	if err != nil {
		return false, err
	}
	m, err := r.mapIn(ctx, s, d)
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
func (x *Spot) place(p *filePart, j int, id VarID, sv *Variable, rec int64) error {
	size := int64(sv.Type.Size())
	off, n := p.place.piece(id, rec, p.table, j)
	x.Offset, x.Bytes, x.Big = off+x.Pos*size, size, p.place.Big
	if (x.Pos+1)*size > n {
		return fault.At(p.name, off, fmt.Sprintf("variable %q of blob %d", sv.Name, j), ErrCorrupt, "%d bytes, but the map gives it an element %d", n, x.Pos)
	}
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	if p.un == nil {
		return p.place.backs(f, x.Offset, size, p.name, fmt.Sprintf("variable %q of blob %d", sv.Name, j))
	}
	x.Offset, x.Bytes, x.Content, x.Within, x.Codec, err = p.un.Chunk(f.(unpack.File).File, p.place.fileVar(id), rec, j, x.Pos*size)
	return err
}

// inView is place of a netCDF-4 file. It returns nil if the element was never written.
func (x *Spot) inView(p *filePart, id VarID, sv *Variable, rec int64) (*Spot, error) {
	i := p.place.fileVar(id)
	piece, within, ok, err := p.view.Stored(i, rec, x.Pos)
	if err != nil || !ok {
		return nil, err
	}
	x.Big = p.view.Big(i)
	if piece.Codec == "" {
		x.Offset, x.Bytes = piece.Offset+within, int64(sv.Type.Size())
	} else {
		x.Offset, x.Bytes, x.Codec, x.Content, x.Within = piece.Offset, piece.Bytes, piece.Codec, piece.Content, within
	}
	return x, nil
}
