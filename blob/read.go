package blob

import (
	"context"
	"fmt"
	"iter"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/fault"
)

// Read reads a hyperslab of a variable in canonical order: count[i] elements
// from start[i] on along each dimension, the record dimension included. Nil
// for both means the whole variable. dst is a slice of numbers ([]byte for
// char) of exactly that many elements; values are converted, and one that does
// not fit is an error that names its index. Elements that no rank wrote are
// the variable's _FillValue, or netCDF's default; Coverage tells how many.
func (r *Reader) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	r = r.now()
	return r.all().read(ctx, name, start, count, hostForm, func(file cdf5.Type, n int64) (*target, error) { return newTarget(dst, file, n) })
}

// ReadBytes is Read of elements as they are, of the variable's type and high byte first if big, into bytes of exactly that
// length.
func (r *Reader) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	r = r.now()
	return r.all().read(ctx, name, start, count, form{big: big}, func(file cdf5.Type, n int64) (*target, error) { return rawTarget(dst, file, n) })
}

// ReadRuns reads one record of a variable as a decomposition wants it: the
// elements of each run of flattened canonical indices, one run after the
// other. rec is 0 for a fixed variable. Any number of readers may do so with
// any decomposition, whoever wrote the dataset.
func (r *Reader) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	r = r.now()
	return r.all().readRuns(ctx, name, rec, runs, dst)
}

// gather reads runs of one record as bytes of the file type, one after the other. What is read together may hold more than is wanted; where
// that fails, nothing else is read, so that damage fails the reads that touch it and no others.
func (r *Reader) gather(ctx context.Context, v VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm form) error {
	err := r.readAll(ctx, []want{{v: v, rec: rec, runs: runs, dst: dst, fm: fm}})
	if err == nil || ctx.Err() != nil {
		return err
	}
	for off, n := range runs {
		if off == 0 && n == r.schema.Elems(v) { // there is nothing else
			return err
		}
		break
	}
	return r.exactly(ctx, v, rec, runs, dst, fm)
}

// A Blob is what one rank wrote of one record of a variable.
type Blob struct {
	Subfile int          // of the set
	Rank    int          // blob number in the whole set: by subfile, then by sub rank
	Runs    []decomp.Req // where its elements belong
	Data    any          // a slice of the type in the file, in map order, host byte order
}

// Blobs walks over the raw blobs of one record of a decomposed variable in the
// order of the files. The slices are the caller's to keep.
func (r *Reader) Blobs(ctx context.Context, name string, rec int64) iter.Seq2[Blob, error] {
	r = r.now()
	return func(yield func(Blob, error) bool) {
		x, err := r.blobsOf(ctx, name, rec)
		if err != nil {
			yield(Blob{}, err)
			return
		}
		x.fm.known = newKnown() // so that no blob is given out whose extent is damaged
		for _, p := range x.s.parts {
			if p.place == nil {
				continue
			}
			for j := range p.place.Shape.Blobs {
				b, err := p.blob(ctx, x, j)
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

// RankBlob reads what one rank wrote of one record of a decomposed variable: the
// blob that Blobs would give as number rank, without reading the others.
func (r *Reader) RankBlob(ctx context.Context, name string, rec int64, rank int) (Blob, error) {
	r = r.now()
	x, err := r.blobsOf(ctx, name, rec)
	if err != nil {
		return Blob{}, err
	}
	for _, p := range x.s.parts {
		if p.place != nil && rank >= p.first && rank < p.first+p.place.Shape.Blobs {
			return p.blob(ctx, x, rank-p.first)
		}
	}
	if rank >= 0 && rank < x.m.Ranks() {
		return Blob{}, fault.At(r.base, -1, "", ErrMissing, "the subfile of rank %d is not here", rank)
	}
	return Blob{}, fault.Usage("%s: blob of rank %d, want 0..%d", r.base, rank, x.m.Ranks()-1)
}

// blobsOf finds the record of a decomposed variable of which raw blobs are wanted.
func (r *Reader) blobsOf(ctx context.Context, name string, rec int64) (w *want, err error) {
	v, ok := r.schema.VarID(name)
	if !ok || r.schema.vars[v].Decomp == 0 {
		return nil, fault.Usage("%s: no decomposed variable %q", r.base, name)
	}
	w = &want{v: v, rec: rec, sv: &r.schema.vars[v]}
	if err := w.sv.checkRecord(rec, r.records); err != nil {
		return nil, fault.Usage("%s: blobs of %q: %v", r.base, name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.s, w.srec = r.setOf(v, rec)
	if w.m, err = r.mapIn(ctx, w.s, w.sv.Decomp); err != nil {
		return nil, err
	}
	if err := r.loadSet(ctx, w.s); err != nil {
		return nil, err
	}
	w.id, err = w.s.variable(v, w.sv)
	return w, err
}

// blob reads blob j of a part.
func (p *filePart) blob(ctx context.Context, w *want, j int) (Blob, error) {
	rank := p.first + j
	b := Blob{Subfile: p.index, Rank: rank, Runs: w.m.AppendReqs(nil, rank)}
	var raw []byte
	if w.id < 0 {
		b.Data, raw = newSlice(w.sv.Type, w.m.Count(rank))
		hostForm.fill(raw, w.sv)
		return b, nil
	}
	f, done, err := p.file()
	if err != nil {
		return Blob{}, err
	}
	defer done()
	field := fmt.Sprintf("variable %q of blob %d", w.sv.Name, j)
	off, n, at := p.place.Spot(p.table, j, int32(w.id), w.srec)
	if err := p.place.backs(f, off, n, p.name, field); err != nil {
		return Blob{}, err
	}
	b.Data, raw = newSlice(w.sv.Type, w.m.Count(rank))
	if err := layout.ReadFull(f, raw, off, p.name, field); err != nil {
		return Blob{}, err
	}
	pf := p.r.proof(w.s, w.id, w.srec, n, w.fm)
	pf.take(p, at, raw)
	if err := pf.judge(ctx); err != nil {
		return Blob{}, err
	}
	if p.place.Big != hostBig {
		cdf5.Swap(raw, raw, w.sv.Type.Size())
	}
	return b, nil
}
