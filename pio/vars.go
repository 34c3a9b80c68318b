package pio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// part does the checks common to PutVars and GetVars.
func (f *File) part(v int, p Part, write bool) (*variable, *region, error) {
	if err := f.dataMode(write); err != nil {
		return nil, nil, err
	}
	x, err := f.variable(v)
	if err != nil {
		return nil, nil, err
	}
	g, err := f.region(x, p, write, f.opt.room(f.s))
	return x, g, err
}

// memory checks a caller's slice against a region and returns it as a slice type of package cdf5. With imap it copies elements,
// possibly far more than the slice has, but at most limit bytes.
func (g *region) memory(v *variable, data any, limit int64) (any, cdf5.Type, error) {
	m, n, t, err := memoryOf(data)
	if err != nil {
		return nil, 0, err
	}
	if !mixable(t, v.t) {
		return nil, 0, failed(ECHAR, "memory type %T cannot be used for type %v", data, v.t)
	}
	if n < g.need {
		return nil, 0, failed(EINVAL, "%d elements, want %d", n, g.need)
	}
	if elems := product(g.count); g.imap != nil && elems > limit/int64(max(t.Size(), v.t.Size())) {
		return nil, 0, failed(ENOMEM, "%d elements with imap %v need more than FileOptions.Memory %d bytes", elems, g.imap, limit)
	}
	return m, t, nil
}

// PutVars writes a part of a variable. data is a slice of numbers, or Text, and may be longer than the part. All ranks pass the
// same part; PutVars writes the data of rank SystemOptions.Base. Collective.
func (f *File) PutVars(ctx context.Context, v int, p Part, data any) error {
	ctx = comm.In(ctx, "File.PutVars")
	if err := f.ready(); err != nil {
		return err
	}
	x, g, err := f.part(v, p, true)
	var raw []byte
	var misfit error
	if err == nil {
		stop := f.stats.spend(copying)
		m, t, merr := g.memory(x, data, f.opt.Memory)
		if err = merr; err == nil && f.s.c.Rank() == f.s.root() {
			raw, err = g.gather(x, t, m)
		}
		stop()
		if err != nil {
			err = fmt.Errorf("%s: put of %q: %w", f.path, x.name, err)
		}
		if errors.Is(err, fault.ErrRange) {
			misfit, err = err, nil
		}
	}
	sum, none := hash(1), int64(0)
	if err == nil {
		sum.numbers(int64(v), g.first, g.step, g.recs, g.elems)
	}
	if misfit != nil {
		none = -1
	}
	same := int64(sum >> 1)
	all, err := f.ranks.agree(ctx, err, same, ^same, none)
	if err == nil && all[0] != ^all[1] {
		err = failed(EINVAL, "%s: put of %q: ranks differ: here %d records from %d with stride %d, %d elements each, want one part of one variable", f.path, x.name, g.recs, g.first, g.step, g.elems)
	}
	if err != nil || g.recs == 0 {
		return err
	}
	if all[2] < 0 { // data of the base do not fit
		misfit = agree(ctx, f.s.c, misfit)
	}
	size := g.elems * int64(x.t.Size())
	n := product(f.shape(x))
	recs, writes := make([]int64, g.recs), make([]*write, g.recs)
	for k := range recs {
		recs[k] = g.first + int64(k)*g.step
		writes[k] = &write{n: n, part: g.part, size: size}
		if raw != nil {
			writes[k].data = raw[int64(k)*size : (int64(k)+1)*size]
		}
	}
	return cmp.Or(f.tx.add(ctx, x, nil, recs, writes), misfit)
}

// FromBase returns the n of rank SystemOptions.Base, or an error on all ranks if err is not nil on some rank. It prepares a call
// of PutVars whose arguments depend on the size of the base's data. Collective.
func (f *File) FromBase(ctx context.Context, err error, n int64) (int64, error) {
	ctx = comm.In(ctx, "File.FromBase")
	if err := f.ready(); err != nil {
		return 0, err
	}
	if f.s.c.Rank() != f.s.root() {
		n = math.MaxInt64
	}
	got, err := f.ranks.agree(ctx, err, n)
	if err != nil {
		return 0, err
	}
	return got[0], nil
}

// IsBase reports whether this is rank SystemOptions.Base, whose data PutVars writes.
func (f *File) IsBase() bool { return f.usable() == nil && f.s.c.Rank() == f.s.root() }

// gather copies the elements of a region from memory, in C order, and converts them to type t.
func (g *region) gather(v *variable, have cdf5.Type, m any) ([]byte, error) {
	n := product(g.count)
	size := int64(have.Size())
	raw := make([]byte, n*size)
	if b := bytesOf(m); g.imap == nil || n == 0 {
		copy(raw, b)
	} else {
		g.walk(func(at, from int64) { copy(raw[at*size:(at+1)*size], b[from*size:]) })
	}
	return converted(v.t, have, cdf5.View(have, raw), v.fill())
}

// GetVars reads a part of a variable in the order of PutVars. Each rank may read another part. GetVars first commits earlier
// writes. If values of a rank do not fit the type in memory, they become its default fill value, the others are read, and all
// ranks return ERANGE. Collective.
func (f *File) GetVars(ctx context.Context, v int, p Part, into any) error {
	ctx = comm.In(ctx, "File.GetVars")
	if err := f.ready(); err != nil {
		return err
	}
	x, g, err := f.part(v, p, false)
	var m any
	var t cdf5.Type
	if err == nil {
		if m, t, err = g.memory(x, into, f.opt.Memory); err != nil {
			err = fmt.Errorf("%s: get of %q: %w", f.path, x.name, err)
		}
	}
	first, last, step, same := int64(math.MaxInt64), int64(-1), int64(1), int64(1)
	if err == nil && t != x.t {
		same = 0
	}
	if err == nil && g.recs > 0 {
		first, last, step = g.first, g.last(), g.step
	}
	all, err := f.ranks.agree(ctx, err, first, ^first, ^last, last, step, ^step, same)
	if err != nil {
		return err
	}
	if err := f.tx.commit(ctx); err != nil {
		return err
	}
	defer f.stats.spend(reading)()
	k, err := f.tx.base.collective(ctx, f.s.c)
	if err != nil {
		return err
	}
	var runs []decomp.Req
	if g.recs > 0 {
		for off, n := range g.part.Runs(0, g.elems) {
			runs = append(runs, decomp.Req{Offset: off, Length: n})
		}
	}
	m, size := elem.Fixed(m), int64(t.Size())
	raw, n := bytesOf(m), g.elems*g.recs
	f.stats.read += n * int64(x.t.Size())
	out := raw
	if g.imap != nil { // the memory may have fewer elements, if some have one place
		out = make([]byte, n*size)
	}
	held, width := out, int64(x.t.Size()) // elements of the variable's type
	if t != x.t {
		held = make([]byte, n*width)
	}
	into1 := func(r int64) any { return cdf5.View(x.t, held[r*g.elems*width:(r+1)*g.elems*width]) }
	if all[0] == ^all[1] && ^all[2] == all[3] && all[4] == ^all[5] { // all ranks read the same records
		var gets []blob.Get
		for r := range g.recs {
			gets = append(gets, blob.Get{Name: x.stored, Record: g.first + r*g.step, Into: into1(r)})
		}
		err = k.Plan(runs).Read(ctx, gets...)
	} else {
		none := cdf5.View(x.t, nil)
		for rec := all[0]; rec <= ^all[2] && err == nil; rec++ {
			r := (rec - first) / g.step
			if g.recs > 0 && rec >= first && rec <= last && first+r*g.step == rec {
				err = k.Plan(runs).Read(ctx, blob.Get{Name: x.stored, Record: rec, Into: into1(r)})
			} else {
				err = k.Plan(nil).Read(ctx, blob.Get{Name: x.stored, Record: rec, Into: none})
			}
		}
	}
	if err != nil {
		return err
	}
	if t != x.t {
		if err = restored(cdf5.View(t, out[:n*size]), held, x.t); err != nil {
			err = fmt.Errorf("%s: get of %q: %w", f.path, x.name, err)
		}
	}
	if g.imap != nil && n > 0 {
		g.walk(func(at, from int64) { copy(raw[from*size:(from+1)*size], out[at*size:]) })
	}
	if all[6] == 0 { // values of some rank may not fit
		err = agree(ctx, f.s.c, err)
	}
	return err
}
