package blob

import (
	"context"
	"fmt"
	"iter"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
)

// Read reads a hyperslab of a variable in canonical order: count[i] elements
// from start[i] on along each dimension, the record dimension included. Nil
// for both means the whole variable. dst is a slice of numbers ([]byte for
// char) of exactly that many elements; values are converted, and one that does
// not fit is an error that names its index. Elements that no rank wrote are
// the variable's _FillValue, or netCDF's default; Coverage tells how many.
func (r *Reader) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	return r.read(ctx, name, start, count, hostForm, func(file cdf5.Type, n int64) (*target, error) { return newTarget(dst, file, n) })
}

// ReadBytes is Read of elements as they are, of the variable's type and high byte first if big, into bytes of exactly that
// length.
func (r *Reader) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	return r.read(ctx, name, start, count, form{big: big}, func(file cdf5.Type, n int64) (*target, error) {
		size := int64(file.Size())
		if int64(len(dst)) != n*size {
			return nil, fmt.Errorf("into %d bytes, want %d: %w", len(dst), n*size, ErrUsage)
		}
		return &target{raw: dst, size: size, file: file}, nil
	})
}

func (r *Reader) read(ctx context.Context, name string, start, count []int64, fm form, into func(file cdf5.Type, n int64) (*target, error)) error {
	v, ok := r.schema.VarID(name)
	if !ok {
		return pkg.Usage("%s: no variable %q", r.base, name)
	}
	sv := &r.schema.vars[v]
	shape := r.schema.Shape(v)
	recs, rec0 := int64(1), int64(0)
	full := shape
	if sv.Record {
		full = append([]int64{r.records}, shape...)
	}
	if start == nil && count == nil {
		start, count = make([]int64, len(full)), full
	}
	if err := checkSlab(full, start, count); err != nil {
		return pkg.Usage("%s: read of %q: %v", r.base, name, err)
	}
	if sv.Record {
		rec0, recs = start[0], count[0]
		start, count = start[1:], count[1:]
	}
	n := product(count)
	out, err := into(sv.Type, recs*n)
	if err != nil {
		return pkg.Errorf("%s: read of %q: %w", r.base, name, err)
	}
	if n == 0 {
		return nil
	}
	for k := range recs {
		b := out.bytes(k*n, n)
		if err := r.slab(ctx, v, rec0+k, shape, start, count, b, fm); err != nil {
			return err
		}
		if err := out.convert(k*n, n); err != nil {
			return pkg.Errorf("%s: read of %q record %d: %w", r.base, name, rec0+k, err)
		}
	}
	return nil
}

// slab reads a hyperslab of one record as bytes of the file type. It chooses
// between reading the whole window around it and looking up each of its runs.
func (r *Reader) slab(ctx context.Context, v VarID, rec int64, shape, start, count []int64, dst []byte, fm form) error {
	lo, hi, runs := int64(-1), int64(0), 0
	for off, n := range slabRuns(shape, start, count) {
		if lo < 0 {
			lo = off
		}
		hi = off + n
		runs++
	}
	size := int64(r.schema.vars[v].Type.Size())
	if runs == 1 {
		return r.raw(ctx, v, rec, lo, hi, dst, fm)
	}
	if w := (hi - lo) * size; int64(len(dst)) >= w/4 && w <= r.opt.Memory {
		win := make([]byte, w)
		if err := r.raw(ctx, v, rec, lo, hi, win, fm); err != nil {
			return err
		}
		for off, n := range slabRuns(shape, start, count) {
			dst = dst[copy(dst, win[(off-lo)*size:(off-lo+n)*size]):]
		}
		return nil
	}
	return r.rawRuns(ctx, v, rec, slabRuns(shape, start, count), dst, fm)
}

// ReadRuns reads one record of a variable as a decomposition wants it: the
// elements of each run of flattened canonical indices, one run after the
// other. rec is 0 for a fixed variable. Any number of readers may do so with
// any decomposition, whoever wrote the dataset.
func (r *Reader) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	v, ok := r.schema.VarID(name)
	if !ok {
		return pkg.Usage("%s: no variable %q", r.base, name)
	}
	sv := &r.schema.vars[v]
	if rec < 0 || sv.Record && rec >= r.records || !sv.Record && rec != 0 {
		return pkg.Usage("%s: read of %q: record %d, want 0..%d", r.base, name, rec, max(r.records-1, 0))
	}
	elems := r.schema.Elems(v)
	total, lo, hi := int64(0), elems, int64(0)
	for k, q := range runs {
		if q.Length < 0 || q.Offset < 0 || q.Offset > elems || q.Length > elems-q.Offset {
			return pkg.Usage("%s: read of %q: run %d is %d elements from %d on, want within %d", r.base, name, k, q.Length, q.Offset, elems)
		}
		total += q.Length
		lo, hi = min(lo, q.Offset), max(hi, q.Offset+q.Length)
	}
	out, err := newTarget(dst, sv.Type, total)
	if err != nil {
		return pkg.Errorf("%s: read of %q: %w", r.base, name, err)
	}
	if total == 0 {
		return nil
	}
	b := out.bytes(0, total)
	size := int64(sv.Type.Size())
	if w := (hi - lo) * size; int64(len(b)) >= w/4 && w <= r.opt.Memory {
		win := make([]byte, w)
		if err := r.raw(ctx, v, rec, lo, hi, win, hostForm); err != nil {
			return err
		}
		for _, q := range runs {
			b = b[copy(b, win[(q.Offset-lo)*size:(q.Offset-lo+q.Length)*size]):]
		}
	} else if err := r.rawRuns(ctx, v, rec, func(yield func(int64, int64) bool) {
		for _, q := range runs {
			if !yield(q.Offset, q.Length) {
				return
			}
		}
	}, b, hostForm); err != nil {
		return err
	}
	return out.convert(0, total)
}

// A Blob is what one rank wrote of one record of a variable.
type Blob struct {
	Subfile int          // of the set
	Rank    int          // blob number in the whole dataset: by subfile, then by sub rank
	Runs    []decomp.Req // where its elements belong
	Data    any          // a slice of the type in the file, in map order, host byte order
}

// Blobs walks over the raw blobs of one record of a decomposed variable in the
// order of the files. The slices are the caller's to keep.
func (r *Reader) Blobs(ctx context.Context, name string, rec int64) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		v, ok := r.schema.VarID(name)
		if !ok || r.schema.vars[v].Decomp == 0 {
			yield(Blob{}, pkg.Usage("%s: no decomposed variable %q", r.base, name))
			return
		}
		sv := &r.schema.vars[v]
		if rec < 0 || sv.Record && rec >= r.records || !sv.Record && rec != 0 {
			yield(Blob{}, pkg.Usage("%s: blobs of %q: record %d, want 0..%d", r.base, name, rec, max(r.records-1, 0)))
			return
		}
		m, err := r.Map(ctx, sv.Decomp)
		if err != nil {
			yield(Blob{}, err)
			return
		}
		s, srec := r.setOf(v, rec)
		if err := r.loadSet(ctx, s); err != nil {
			yield(Blob{}, err)
			return
		}
		id, err := s.variable(v, sv)
		if err != nil {
			yield(Blob{}, err)
			return
		}
		fm := form{known: newKnown()} // so that no blob is given out whose extent is damaged
		for _, p := range s.parts {
			if p.place == nil {
				continue
			}
			for j := range p.place.Shape.Blobs {
				b, err := p.blob(ctx, s, m, id, sv, srec, j, fm)
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

func (p *filePart) blob(ctx context.Context, s *set, m *decomp.Map, id VarID, sv *Variable, rec int64, j int, fm form) (Blob, error) {
	f, done, err := p.file()
	if err != nil {
		return Blob{}, err
	}
	defer done()
	rank := p.first + j
	off, n, at := p.place.Spot(p.table, j, int32(id), rec)
	if err := p.place.backs(f, off, n, p.name, fmt.Sprintf("variable %q of blob %d", sv.Name, j)); err != nil {
		return Blob{}, err
	}
	data, raw := newSlice(sv.Type, m.Count(rank))
	if err := layout.ReadFull(f, raw, off, p.name, fmt.Sprintf("variable %q of blob %d", sv.Name, j)); err != nil {
		return Blob{}, err
	}
	pf := p.r.proof(s, id, rec, n, fm)
	pf.take(p, at, raw)
	if err := pf.judge(ctx); err != nil {
		return Blob{}, err
	}
	if p.place.Big != hostBig {
		cdf5.Swap(raw, raw, sv.Type.Size())
	}
	return Blob{Subfile: p.index, Rank: rank, Runs: m.AppendReqs(nil, rank), Data: data}, nil
}
