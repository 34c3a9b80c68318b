package read

import (
	"context"
	"fmt"
	"iter"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Read is blob.Reader.Read.
func (r *Reader) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	r = r.Now()
	return r.all().read(ctx, name, start, count, HostForm, func(file cdf5.Type, n int64) (*target, error) { return newTarget(dst, file, n) })
}

// ReadBytes is blob.Reader.ReadBytes.
func (r *Reader) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	r = r.Now()
	return r.all().read(ctx, name, start, count, Form{Big: big}, func(file cdf5.Type, n int64) (*target, error) { return rawTarget(dst, file, n) })
}

// ReadRuns is blob.Reader.ReadRuns.
func (r *Reader) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	r = r.Now()
	return r.all().readRuns(ctx, name, rec, runs, dst)
}

// gather reads runs of one record one after the other, as bytes of the file type. It may read more than the runs. If such a read
// fails, it reads only the runs, so that damage affects only reads that touch it.
func (r *Elems) gather(ctx context.Context, v dataset.VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm Form) error {
	err := r.ReadAll(ctx, []Want{{V: v, Rec: rec, runs: runs, Dst: dst, Fm: fm}})
	if err == nil || ctx.Err() != nil {
		return err
	}
	for off, n := range runs {
		if off == 0 && n == r.Data.Schema.Elems(v) { // the run is the whole variable
			return err
		}
		break
	}
	return r.Exactly(ctx, v, rec, runs, dst, fm)
}

// Blob is the data of one rank in one record of a variable.
type Blob struct {
	Subfile int          // of the set
	Rank    int          // blob number in the whole set, which counts by subfile, then by sub rank
	Runs    []decomp.Req // runs of its elements in the canonical array
	Data    any          // a slice of the type in the file, in map order and host byte order
}

// Blobs is blob.Inspector.Blobs.
func (r *Elems) Blobs(ctx context.Context, name string, rec int64) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		x, err := r.blobsOf(ctx, name, rec)
		if err != nil {
			yield(Blob{}, err)
			return
		}
		x.Fm.Known = NewKnown() // compare the whole extent, so that no blob of a damaged extent is returned
		for _, p := range x.s.Parts {
			if p.Place == nil {
				continue
			}
			for j := range p.Place.Shape.Blobs {
				b, err := r.blob(ctx, p, x, j)
				if err == nil {
					err = ctx.Err()
				}
				if !yield(b, err) || err != nil {
					return
				}
			}
		}
	}
}

// RankBlob is blob.Inspector.RankBlob.
func (r *Elems) RankBlob(ctx context.Context, name string, rec int64, rank int) (Blob, error) {
	x, err := r.blobsOf(ctx, name, rec)
	if err != nil {
		return Blob{}, err
	}
	for _, p := range x.s.Parts {
		if p.Place != nil && rank >= p.First && rank < p.First+p.Place.Shape.Blobs {
			return r.blob(ctx, p, x, rank-p.First)
		}
	}
	if rank >= 0 && rank < x.m.Ranks() {
		return Blob{}, fault.At(r.Files.Base, -1, "", dataset.ErrMissing, "the subfile of rank %d is missing", rank)
	}
	return Blob{}, fault.Usage("%s: blob of rank %d, want 0..%d", r.Files.Base, rank, x.m.Ranks()-1)
}

// blobsOf finds the record of a decomposed variable whose blobs are to be read.
func (r *Elems) blobsOf(ctx context.Context, name string, rec int64) (w *Want, err error) {
	v, ok := r.Data.Schema.VarID(name)
	if !ok || r.Data.Schema.Vars[v].Decomp == 0 {
		return nil, fault.Usage("%s: no decomposed variable %q", r.Files.Base, name)
	}
	w = &Want{V: v, Rec: rec, sv: &r.Data.Schema.Vars[v]}
	if err := w.sv.CheckRecord(rec, r.Data.Records); err != nil {
		return nil, fault.Usage("%s: blobs of %q: %v", r.Files.Base, name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.s, w.srec = r.Data.SetOf(v, rec)
	if w.m, err = r.Maps.in(ctx, w.s, w.sv.Decomp); err != nil {
		return nil, err
	}
	if err := w.s.Load(ctx); err != nil {
		return nil, err
	}
	w.id, err = w.s.Variable(v, w.sv)
	return w, err
}

// blob reads blob j of a subfile.
func (r *Elems) blob(ctx context.Context, p *FilePart, w *Want, j int) (Blob, error) {
	rank := p.First + j
	b := Blob{Subfile: p.Index, Rank: rank, Runs: w.m.AppendReqs(nil, rank)}
	var raw []byte
	if w.id < 0 {
		b.Data, raw = NewSlice(w.sv.Type, w.m.Count(rank))
		HostForm.fill(raw, w.sv)
		return b, nil
	}
	f, done, err := p.File()
	if err != nil {
		return Blob{}, err
	}
	defer done()
	field := fmt.Sprintf("variable %q of blob %d", w.sv.Name, j)
	off, n, at := p.Place.Spot(p.Table, j, int32(w.id), w.srec)
	if err := p.Place.Backs(f, off, n, p.Name, field); err != nil {
		return Blob{}, err
	}
	b.Data, raw = NewSlice(w.sv.Type, w.m.Count(rank))
	if err := layout.ReadFull(f, raw, off, p.Name, field); err != nil {
		return Blob{}, err
	}
	pf := r.Prover.proof(w.s, w.id, w.srec, n, w.Fm)
	pf.take(p, at, raw)
	if err := pf.judge(ctx); err != nil {
		return Blob{}, err
	}
	if p.Place.Big != dataset.HostBig {
		elem.Swap(raw, raw, w.sv.Type.Size())
	}
	return b, nil
}

// Elements are read together with neighbouring bytes, so an error may concern bytes that the caller does not want. A failed read
// is therefore repeated for the wanted bytes alone. The repeated read touches only the wanted elements and the bytes that share
// a checksum with them.

// target is the caller's slice of a read. If the slice has the type of the file, elements go directly into it, otherwise through
// a buffer.
type target struct {
	dst  any
	raw  []byte // bytes of dst in host order; nil if elements must be converted
	size int64
	file cdf5.Type
	buf  []byte
}

func newTarget(dst any, file cdf5.Type, n int64) (*target, error) {
	have, mem, ok := cdf5.SliceLen(dst)
	if !ok {
		return nil, fault.Usage("destination is a %T, want a slice of numbers", dst)
	}
	if int64(have) != n {
		return nil, fault.Usage("destination has %d elements, want %d", have, n)
	}
	t := &target{dst: dst, size: int64(file.Size()), file: file}
	if _, text := dst.(string); text {
		return nil, fault.Usage("destination is a string, want []byte")
	}
	if raw, _ := cdf5.Bytes(dst); dataset.SameType(mem, file) && int64(len(raw)) == n*t.size { // an int may be narrower than the file's type
		t.raw = raw
	} else if file == cdf5.Char {
		return nil, fault.Usage("destination for char is %T, want []byte", dst)
	}
	return t, nil
}

// bytes returns memory for n elements of the file's type, which begin at element at.
func (t *target) bytes(at, n int64) []byte {
	if t.raw != nil {
		return t.raw[at*t.size : (at+n)*t.size]
	}
	if int64(cap(t.buf)) < n*t.size {
		t.buf = make([]byte, n*t.size)
	}
	t.buf = t.buf[:n*t.size]
	return t.buf
}

// convert moves elements from the memory that bytes returned to the caller's slice.
func (t *target) convert(at, n int64) error {
	if t.raw != nil {
		return nil
	}
	return cdf5.FromFile(subslice(t.dst, at, n), t.buf, dataset.HostBig, t.file)
}

func subslice(s any, at, n int64) any { return elem.Sub(elem.Fixed(s), int(at), int(at+n)) }

// NewSlice makes a slice of n elements of a file type, and returns it with its bytes.
func NewSlice(t cdf5.Type, n int64) (any, []byte) {
	s := cdf5.NewSlice(t, int(n))
	b, _ := cdf5.Bytes(s)
	return s, b
}

// View is blob.View.
type View struct{ Selection }

// View returns a part of the dataset. A nil argument selects all variables, or all indices.
func (r *Reader) View(vars []string, sub Subset) (*View, error) {
	r = r.Now()
	c, err := r.Choose("part of "+r.Files.Base, vars, nil)
	if err == nil {
		err = c.Restrict("part of "+r.Files.Base, sub)
	}
	return &View{c}, err
}

// Base returns the path of the dataset.
func (w *View) Base() string { return w.R.Files.Base }

// Header returns the header that the part would have as an ordinary netCDF file, without offsets. The caller must not change it.
func (w *View) Header() *cdf5.Header {
	h := w.Schema.CanonicalHeader(cdf5.CDF5)
	h.NumRecs = w.Records
	return h
}

// Read is Reader.Read with variables and indices that refer to the part.
func (w *View) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	return w.read(ctx, name, start, count, HostForm, func(file cdf5.Type, n int64) (*target, error) { return newTarget(dst, file, n) })
}

// ReadBytes is Reader.ReadBytes with variables and indices that refer to the part.
func (w *View) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	return w.read(ctx, name, start, count, Form{Big: big}, func(file cdf5.Type, n int64) (*target, error) { return rawTarget(dst, file, n) })
}

// ReadRuns is Reader.ReadRuns with variables and indices that refer to the part.
func (w *View) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	return w.readRuns(ctx, name, rec, runs, dst)
}
