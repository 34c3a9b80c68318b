package pio

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/fault"
)

// spot is the position of a decomposition in a variable: n records from rec on, and the first element in each.
type spot struct{ rec, n, off int64 }

// stripped returns the lengths other than 1.
func stripped(n []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(n), func(x int64) bool { return x == 1 })
}

// spot finds the position of a decomposition in a variable. It ignores dimensions of length 1. Without a frame, the
// decomposition of a record variable may begin with the records.
func (f *definitions) spot(v *variable, d *Decomp) (spot, error) {
	shape, want := f.shape(v), stripped(d.dims)
	frame := max(v.frame, 0)
	record := ""
	switch {
	case f.isRecord(v) && slices.Equal(stripped(shape), want):
		return spot{frame, 1, 0}, nil
	case f.isRecord(v):
		if len(want) > 0 && slices.Equal(stripped(shape), want[1:]) && (frame == 0 || len(shape) == 0) {
			return spot{0, want[0], 0}, nil
		}
		record = fmt.Sprintf(" in record %d", frame)
	case slices.Equal(stripped(shape), want):
		return spot{0, 1, 0}, nil
	case len(shape) > 0 && slices.Equal(stripped(shape[1:]), want):
		if frame >= shape[0] {
			return spot{}, failed(EINVALCOORDS, "%s: frame %d of %q, want 0..%d", f.path, frame, v.name, shape[0]-1)
		}
		return spot{0, 1, frame * d.elems}, nil
	}
	return spot{}, failed(EVARDIMMISMATCH, "%s: variable %q has shape %v%s, but the decomposition has %v", f.path, v.name, shape, record, d.dims)
}

// darray does the checks common to reads and writes by a decomposition. Even with an error, it returns the variable if variable
// and decomposition are known.
func (f *File) darray(v int, d *Decomp, write bool) (*variable, spot, error) {
	if err := f.dataMode(write); err != nil {
		return nil, spot{}, err
	}
	x, err := f.variable(v)
	if err != nil {
		return nil, spot{}, err
	}
	if d == nil || d.s != f.s {
		return nil, spot{}, failed(EBADID, "%s: variable %q: the decomposition belongs to another I/O system, or does not exist", f.path, x.name)
	}
	if write && d.readonly {
		return x, spot{}, failed(EINVAL, "%s: write of %q with a read-only decomposition", f.path, x.name)
	}
	if !mixable(d.t, x.t) {
		return x, spot{}, failed(ECHAR, "%s: variable %q has type %v, but the decomposition has %v", f.path, x.name, x.t, d.t)
	}
	at, err := f.spot(x, d)
	return x, at, err
}

// memory checks a caller's slice against a decomposition and returns it as a slice of the decomposition's type.
func (d *Decomp) memory(data any, least int64) (any, error) {
	m, n, t, err := memoryOf(data)
	if err != nil {
		return nil, err
	}
	if t.Size() != d.t.Size() || t != d.t && !(t == cdf5.UByte && d.t == cdf5.Char) {
		return nil, failed(EBADTYPE, "data have type %T, want %v", data, d.t)
	}
	if n < least {
		return nil, failed(EINVAL, "%d elements, want %d", n, least)
	}
	return m, nil
}

// WriteDarray writes the current frame of a variable, or the first frames if no frame was selected and the decomposition's first
// dimension counts them. data holds this rank's elements, of the decomposition's type. It may be
// longer than Decomp.Len. WriteDarray copies it.
//
// fill is the value of elements that no rank has, as a slice of one element of the same type. Nil means the variable's fill
// value. The default fill value of the decomposition's type also means the variable's fill value if it does not fit the
// variable's type. Any other value that does not fit is ERANGE on all ranks, and nothing is written. If each element is on one
// rank, fill is ignored. Collective.
func (f *File) WriteDarray(ctx context.Context, v int, d *Decomp, data, fill any) error {
	ctx = comm.In(ctx, "File.WriteDarray")
	if err := f.ready(); err != nil {
		return err
	}
	x, at, err := f.darray(v, d, true)
	if last := at.rec + at.n - 1; err == nil && last > f.records+maxRecordGap {
		err = failed(EINVALCOORDS, "%s: frame %d of %q, want at most %d beyond the existing %d", f.path, last, x.name, maxRecordGap, f.records)
	}
	if err == nil {
		if err = f.gap(at.rec-f.records, f.opt.room(f.s)); err != nil {
			err = fmt.Errorf("%s: frame %d of %q: %w", f.path, at.rec, x.name, err)
		}
	}
	if err != nil {
		if x != nil && d.t != x.t { // the other ranks agree below
			_, err = f.ranks.agreeBut(ctx, err, nil)
			return err
		}
		if f.write {
			f.ranks.miss(err)
		}
		return err
	}
	stop := f.stats.spend(copying)
	var own, gap []byte // this rank's elements; the fill value of elements that no rank has
	var misfit error
	err = func() error {
		m, err := d.memory(data, d.Len())
		if err != nil {
			return err
		}
		packed := f.s.spare.take(d.kept * int64(d.t.Size()))
		d.pack(packed, bytesOf(m), int64(d.t.Size()))
		if own, err = converted(x.t, d.t, cdf5.View(d.t, packed), x.fill()); errors.Is(err, fault.ErrRange) {
			misfit, err = fmt.Errorf("%s: write of %q: %w", f.path, x.name, err), nil
		}
		if err != nil || fill == nil {
			return err
		}
		one, err := d.memory(fill, 1)
		if err != nil {
			return fmt.Errorf("fill value: %w", err)
		}
		value := bytesOf(one)[:d.t.Size()]
		if f.opt.OwnFill && !x.nofill && d.t == x.t && !bytes.Equal(value, x.fill()) {
			return failed(EINVAL, "fill value %v, want the variable's fill value %v", one, cdf5.View(x.t, x.fill()))
		}
		if !d.holes() { // nothing to fill: any value is allowed, even different ones
			return nil
		}
		b, err := converted(x.t, d.t, cdf5.View(d.t, value), nil)
		if errors.Is(err, fault.ErrRange) && bytes.Equal(value, (&variable{t: d.t}).fill()) {
			return nil
		}
		gap = slices.Clone(b) // the caller may change the slice
		return err
	}()
	stop()
	if err != nil {
		err = fmt.Errorf("%s: write of %q: %w", f.path, x.name, err)
	}
	if d.t != x.t { // values of some rank may not fit
		if misfit, err = f.ranks.agreeBut(ctx, err, misfit); err != nil {
			return err
		}
	}
	recs, writes := make([]int64, at.n), make([]*write, at.n)
	for k, p := range d.records(at.n) {
		recs[k] = at.rec + int64(k)
		writes[k] = &write{off: at.off, n: p.elems, d: p, fill: gap, size: (d.most*int64(x.t.Size()) + at.n - 1) / at.n}
		if own != nil {
			n := p.kept * int64(x.t.Size())
			writes[k].data, own = own[:n:n], own[n:]
		}
	}
	return cmp.Or(f.tx.add(ctx, x, err, recs, writes), misfit)
}

// SameRank returns EVARDIMMISMATCH unless all variables have the same number of dimensions. PIO requires this of the variables of
// one write call.
func (f *File) SameRank(vars []int) error {
	for i, v := range vars {
		x, err := f.variable(v)
		if err != nil {
			return err
		}
		if first := f.vars[vars[0]]; i > 0 && len(x.dims) != len(first.dims) {
			return failed(EVARDIMMISMATCH, "%s: %q has %d dimensions and %q has %d, want equal numbers in one call", f.path, first.name, len(first.dims), x.name, len(x.dims))
		}
	}
	return nil
}

// ReadDarray reads the frames that WriteDarray would write, by any decomposition. into is a slice of the decomposition's type with at
// least Decomp.Len elements. Elements of into that the map does not place in the array stay unchanged. Unwritten elements read as
// the variable's fill value. ReadDarray first commits earlier writes. Collective.
func (f *File) ReadDarray(ctx context.Context, v int, d *Decomp, into any) error {
	ctx = comm.In(ctx, "File.ReadDarray")
	if err := f.ready(); err != nil {
		return err
	}
	x, at, err := f.darray(v, d, false)
	if last := at.rec + at.n - 1; err == nil && f.isRecord(x) && last >= f.records {
		err = failed(EINVALCOORDS, "%s: frame %d of %q, want %s", f.path, last, x.name, fault.Below(f.records, "records"))
	}
	var m any
	if err == nil {
		if m, err = d.memory(into, d.Len()); err != nil {
			err = fmt.Errorf("%s: read of %q: %w", f.path, x.name, err)
		}
	}
	if f.write {
		if _, err := f.ranks.agree(ctx, err); err != nil {
			return err
		}
		if err := f.tx.commit(ctx); err != nil {
			return err
		}
	}
	if k, e := f.tx.base.collective(ctx, f.s.c); e != nil {
		return e
	} else if err != nil { // the other ranks begin to read
		return agreeCode(ctx, f.s.c, k.Refuse(ctx, err))
	}
	defer f.stats.spend(reading)()
	raw, size := bytesOf(m), int64(d.t.Size())
	f.stats.read += d.kept * int64(x.t.Size())
	out := raw[:d.kept*size]
	if !d.direct() {
		out = f.s.spare.take(d.kept * size)
		defer f.s.spare.give(out, f.opt.Buffer)
	}
	rest := out
	for k, p := range d.records(at.n) {
		plan, err := f.tx.base.plan(ctx, p, at.off)
		if err != nil {
			return err
		}
		n := p.kept * size
		if err := plan.Read(ctx, blob.Get{Name: x.stored, Record: at.rec + int64(k), Into: cdf5.View(d.t, rest[:n:n])}); err != nil {
			return agreeCode(ctx, f.s.c, err)
		}
		rest = rest[n:]
	}
	if !d.direct() {
		d.unpack(raw, out, size)
	}
	return nil
}
