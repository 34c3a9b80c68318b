package read

import (
	"context"
	"fmt"
	"iter"
	"slices"

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

// gather reads runs of one record as bytes of the file type, one after the other. What is read together may hold more than is wanted; where
// that fails, nothing else is read, so that damage fails the reads that touch it and no others.
func (r *Elems) gather(ctx context.Context, v dataset.VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm Form) error {
	err := r.ReadAll(ctx, []Want{{V: v, Rec: rec, runs: runs, Dst: dst, Fm: fm}})
	if err == nil || ctx.Err() != nil {
		return err
	}
	for off, n := range runs {
		if off == 0 && n == r.Data.Schema.Elems(v) { // there is nothing else
			return err
		}
		break
	}
	return r.Exactly(ctx, v, rec, runs, dst, fm)
}

// A Blob is what one rank wrote of one record of a variable.
type Blob struct {
	Subfile int          // of the set
	Rank    int          // blob number in the whole set: by subfile, then by sub rank
	Runs    []decomp.Req // where its elements belong
	Data    any          // a slice of the type in the file, in map order, host byte order
}

// Blobs is blob.Reader.Blobs.
func (r *Elems) Blobs(ctx context.Context, name string, rec int64) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		x, err := r.blobsOf(ctx, name, rec)
		if err != nil {
			yield(Blob{}, err)
			return
		}
		x.Fm.Known = NewKnown() // so that no blob is given out whose extent is damaged
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

// RankBlob is blob.Reader.RankBlob.
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
		return Blob{}, fault.At(r.Files.Base, -1, "", dataset.ErrMissing, "the subfile of rank %d is not here", rank)
	}
	return Blob{}, fault.Usage("%s: blob of rank %d, want 0..%d", r.Files.Base, rank, x.m.Ranks()-1)
}

// blobsOf finds the record of a decomposed variable of which raw blobs are wanted.
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

// blob reads blob j of a part.
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

// Elements are read together with what lies near them. A fault that is met on the way may be of what nobody asked for; so what failed is read
// once more, without anything else. What a read touches are then the elements that it asks for, and all that is compared with a checksum
// together with one of them.

// exactStep is how many bytes are found right or wrong at a time.
const exactStep = 64 << 10

// exact is fm for reading nothing but what is wanted, all of which is compared with its checksums.
func (r *Prover) exact(fm Form) Form {
	fm.exact = true
	switch r.Files.Opt.Verify {
	case VerifyNever:
	case VerifyAlways:
		fm.Known = NewKnown()
	default:
		fm.Known = r.known
	}
	return fm
}

// Exactly reads runs of one record as gather does, in steps of bounded memory.
func (r *Elems) Exactly(ctx context.Context, v dataset.VarID, rec int64, runs iter.Seq2[int64, int64], dst []byte, fm Form) error {
	fm = r.Prover.exact(fm)
	size := int64(r.Data.Schema.Vars[v].Type.Size())
	step := max(1, exactStep/size)
	var some []decomp.Req
	sum := int64(0)
	flush := func() error {
		n := sum * size
		err := r.RawRuns(ctx, v, rec, EachRun(slices.Values(some)), dst[:n], fm)
		dst, some, sum = dst[n:], some[:0], 0
		return err
	}
	for off, n := range runs {
		for n > 0 {
			k := min(n, step-sum)
			some = append(some, decomp.Req{Offset: off, Length: k})
			off, n, sum = off+k, n-k, sum+k
			if sum < step {
				continue
			}
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if sum == 0 {
		return nil
	}
	return flush()
}

// EachRun yields the runs of requests that are not empty.
func EachRun(reqs iter.Seq[decomp.Req]) iter.Seq2[int64, int64] {
	return func(yield func(off, n int64) bool) {
		for q := range reqs {
			if q.Length > 0 && !yield(q.Offset, q.Length) {
				return
			}
		}
	}
}
