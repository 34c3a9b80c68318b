//go:build cgo && unix && mpi

package main

// #include "pio/edge.h"
import "C"

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/pio"
)

// frameOf runs set. In SCORPIO's form, v must be less than PIO_MAX_VARS; otherwise frameOf returns PIO_EINVAL.
func frameOf(nc, v, flags int32, e *C.blobio_pio_failure, set func(*pio.File) error) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		if flags&C.PIO_OF_NCAR == 0 && (v < 0 || v >= maxVars) {
			return edge.Usage("%s: variable %d, want 0..%d", x.f.Path(), v, maxVars-1)
		}
		return set(x.f)
	})
}

// maxVars is PIO_MAX_VARS.
const maxVars = 8192

//export blobioGoPioSetFrame
func blobioGoPioSetFrame(nc, v, frame, flags int32, e *C.blobio_pio_failure) int32 {
	// For variables without frames, programs pass a negative frame.
	return frameOf(nc, v, flags, e, func(f *pio.File) error { return f.SetFrame(int(v), int64(max(frame, 0))) })
}

//export blobioGoPioAdvanceFrame
func blobioGoPioAdvanceFrame(nc, v, flags int32, e *C.blobio_pio_failure) int32 {
	return frameOf(nc, v, flags, e, func(f *pio.File) error { return f.AdvanceFrame(int(v)) })
}

// darrays returns the data of several variables, each with n elements, and their fill values. Both lists are contiguous in
// memory. PIO documents an array of addresses of fill values, but both libraries read an array of values.
func darrays(d *pio.Decomp, vars int, n int64, p, fillsp uintptr) (data, fills []any, err error) {
	size := int64(d.Type().Size())
	fills = make([]any, vars)
	if n < 0 || vars > 0 && n > math.MaxInt64/size/int64(vars) {
		return nil, nil, edge.Usage("%d elements, want >= 0", n)
	}
	for i := range vars {
		if fillsp != 0 {
			if fills[i], err = memory(d.Type(), fillsp+uintptr(int64(i)*size), 1); err != nil {
				return nil, nil, fmt.Errorf("fill value: %w", err)
			}
		}
		a, err := memory(d.Type(), p+uintptr(int64(i)*n*size), n)
		if err != nil {
			return nil, nil, err
		}
		data = append(data, a)
	}
	return data, fills, nil
}

// decompOf returns the decomposition of a handle. For an unknown handle it returns nil, which package pio turns into an error on
// all ranks.
func decompOf(id int32) (*pio.Decomp, error) {
	x, err := decomps.get("a decomposition", id)
	if err != nil {
		return nil, err
	}
	return x.d, nil
}

// none returns memory without elements. It is too short for any call, which package pio turns into an error on all ranks.
func none(t cdf5.Type) any {
	v, err := memory(t, 0, 0)
	if err != nil {
		return nil
	}
	return v
}

// noneOf is none with the type of a decomposition.
func noneOf(d *pio.Decomp) any {
	if d == nil {
		return nil
	}
	return none(d.Type())
}

// variables returns the ids of the variables that one call writes. NCAR's library requires that they have the same number of
// dimensions.
func variables(f *pio.File, p uintptr, n, flags int32) ([]int, error) {
	ids, err := wide("ids of variables", p, n)
	if err == nil && n == 0 {
		err = edge.Usage("no variables are given, want at least 1")
	}
	if err != nil {
		return nil, err
	}
	vars := make([]int, n)
	for i := range vars {
		vars[i] = int(ids[i])
		if flags&C.PIO_MULTI != 0 && flags&C.PIO_OF_NCAR == 0 && (ids[i] < 0 || ids[i] > maxVars) {
			return nil, edge.Usage("%s: variable %d, want 0..%d", f.Path(), ids[i], maxVars)
		}
	}
	if flags&C.PIO_OF_NCAR != 0 && n > 1 {
		if err := f.SameRank(vars); err != nil {
			return nil, err
		}
	}
	return vars, nil
}

// If only this rank has an error, the other ranks get it at the commit, because package pio counts the write in any case.
//
//export blobioGoPioWriteDarray
func blobioGoPioWriteDarray(nc, nvars int32, varsp uintptr, decomp int32, n int64, p, framesp, fillsp uintptr, flags, flush int32, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		d, err := decompOf(decomp)
		vars, verr := variables(x.f, varsp, nvars, flags)
		err = cmp.Or(err, verr)
		var frames []int64
		if framesp != 0 && verr == nil {
			var ferr error
			frames, ferr = wide("frames", framesp, nvars)
			err = cmp.Or(err, ferr)
		}
		var data, fills []any
		if err == nil {
			data, fills, err = darrays(d, len(vars), n, p, fillsp)
		}
		if err != nil {
			data, fills = slices.Repeat([]any{noneOf(d)}, len(vars)), make([]any, len(vars))
		}
		ctx := in("PIOc_write_darray")
		for i, v := range vars {
			if frames != nil {
				err = cmp.Or(err, x.f.SetFrame(v, max(frames[i], 0)))
			}
			err = cmp.Or(err, x.f.WriteDarray(ctx, v, d, data[i], fills[i]))
		}
		if flush != 0 {
			err = cmp.Or(err, x.f.Sync(ctx))
		}
		return err
	})
}

//export blobioGoPioReadDarray
func blobioGoPioReadDarray(nc, v, decomp int32, n int64, p uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		d, err := decompOf(decomp)
		var into any
		if err == nil {
			into, err = memory(d.Type(), p, n)
		}
		if err != nil {
			into = noneOf(d)
		}
		return cmp.Or(err, x.f.ReadDarray(in("PIOc_read_darray"), int(v), d, into))
	})
}

// frame is one frame of a variable in the caller's memory. The type in memory may differ from the type of the decomposition.
type frame struct {
	v, decomp int32
	rec       int64
	mem       int32 // type in memory; 0 means the decomposition's type
	p         uintptr
}

// move runs f with memory of the decomposition's type. Without back, the memory has the caller's data, converted to this type.
// With back, move converts the result and copies it to the caller's memory, where elements outside the decomposition stay
// unchanged.
func (m frame) move(x *pioFile, back bool, f func(d *pio.Decomp, data any) error) error {
	d, err := decompOf(m.decomp)
	if err = cmp.Or(err, x.f.SetFrame(int(m.v), m.rec)); err != nil {
		return cmp.Or(err, f(nil, nil))
	}
	t := cmp.Or(cdf5.Type(m.mem), d.Type())
	data, err := memory(t, m.p, d.Len())
	own := data
	if err == nil && t != d.Type() {
		if t == cdf5.Char || d.Type() == cdf5.Char {
			err = fmt.Errorf("memory type %v does not match decomposition type %v: %w", t, d.Type(), pio.ECHAR)
		} else if own, err = edge.Make(d.Type(), d.Len()); err == nil && !back {
			err = edge.Convert(own, data, false)
		}
	}
	if err != nil {
		own = noneOf(d)
	}
	if err := cmp.Or(err, f(d, own)); err != nil || !back || t == d.Type() {
		return err
	}
	got, err := edge.Make(t, d.Len())
	if err != nil {
		return err
	}
	if err := edge.Convert(got, own, false); err != nil {
		return err
	}
	into, from, size := edge.Bytes(data), edge.Bytes(got), t.Size()
	for i, place := range d.Map() {
		if place > 0 {
			copy(into[i*size:(i+1)*size], from[i*size:])
		}
	}
	return nil
}

//export blobioGoPioPutFrame
func blobioGoPioPutFrame(nc, v, decomp int32, rec int64, mem int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		return frame{v, decomp, rec, mem, p}.move(x, false, func(d *pio.Decomp, data any) error {
			return x.f.WriteDarray(in("PIOc_write_darray"), int(v), d, data, nil)
		})
	})
}

//export blobioGoPioGetFrame
func blobioGoPioGetFrame(nc, v, decomp int32, rec int64, mem int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		return frame{v, decomp, rec, mem, p}.move(x, true, func(d *pio.Decomp, data any) error {
			return x.f.ReadDarray(in("PIOc_read_darray"), int(v), d, data)
		})
	})
}

// vars holds the arguments of a call for a part of a variable: the whole variable, one element, or start and count.
type vars struct {
	v, much                    int32
	start, count, stride, imap uintptr
	mem                        int32 // type in memory; 0 means the variable's type
	p                          uintptr
	write                      bool
}

// read returns the part and its memory. Package pio checks start and count, and turns memory that is missing on this rank into
// an error on all ranks.
func (a vars) read(x *pioFile) (part pio.Part, data any, err error) {
	w, err := x.f.Var(int(a.v))
	if err != nil {
		return part, nil, err
	}
	dims := int64(len(w.Dims))
	if dims > 0 && a.much != C.PIO_WHOLE {
		if part.Start, err = words("start", a.start, dims); err != nil {
			return part, nil, err
		}
		if a.much == C.PIO_ONE {
			part.Count = slices.Repeat([]int64{1}, int(dims))
		} else if part.Count, err = words("count", a.count, dims); err != nil {
			return part, nil, err
		}
		if a.stride != 0 {
			part.Stride, err = words("stride", a.stride, dims)
		}
		if a.imap != 0 && err == nil {
			part.Imap, err = words("imap", a.imap, dims)
		}
		if err != nil {
			return part, nil, err
		}
	}
	count := part.Count
	for i, d := range w.Dims {
		if part.Count != nil {
			break
		}
		_, n, err := x.f.Dim(d)
		if err != nil {
			return part, nil, err
		}
		if a.write && i == 0 {
			n = max(n, 1) // the first record may be written
		}
		count = append(count, n)
	}
	data, err = memory(cmp.Or(cdf5.Type(a.mem), w.Type), a.p, extent(count, part.Imap))
	if err != nil {
		data, err = none(w.Type), fmt.Errorf("%s: variable %q: %w", x.f.Path(), w.Name, err)
	}
	return part, data, err
}

// extent returns the number of elements in memory from the first to the last element. For invalid counts it returns 0.
func extent(count, imap []int64) int64 {
	n, span := int64(1), int64(1)
	for i, c := range count {
		if c <= 0 || n > math.MaxInt64/16/c {
			return 0
		}
		n *= c
		if imap != nil {
			if m := imap[i]; m < 0 || m > (math.MaxInt64/16-span)/c {
				return 0
			}
			span += (c - 1) * imap[i]
		}
	}
	if imap != nil {
		return span
	}
	return n
}

// The ranks agree on an error, which has a code and a text. If no rank has an error, the number at p becomes the base rank's
// number. Collective.
//
//export blobioGoPioAgree
func blobioGoPioAgree(nc, code int32, textp, p uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		n, err := words("number", p, 1)
		if err != nil {
			return err
		}
		if code != 0 {
			text, terr := edge.String("text", textp)
			class := pio.Code(code)
			err = cmp.Or(terr, fault.Class(class, "%s", strings.TrimSuffix(text, ": "+class.Error())))
		}
		base, err := x.f.FromBase(in("PIOc_put_vars"), err, n[0])
		if err != nil {
			return err
		}
		return edge.Store(p, base)
	})
}

//export blobioGoPioIsBase
func blobioGoPioIsBase(nc int32, out uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		base := int32(0)
		if x.f.IsBase() {
			base = 1
		}
		return edge.Store(out, base)
	})
}

//export blobioGoPioPut
func blobioGoPioPut(nc, v, much int32, startp, countp, stridep, imapp uintptr, mem int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		part, data, err := vars{v, much, startp, countp, stridep, imapp, mem, p, true}.read(x)
		return cmp.Or(err, x.f.PutVars(in("PIOc_put_vars"), int(v), part, data))
	})
}

//export blobioGoPioGet
func blobioGoPioGet(nc, v, much int32, startp, countp, stridep, imapp uintptr, mem int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		part, data, err := vars{v, much, startp, countp, stridep, imapp, mem, p, false}.read(x)
		return cmp.Or(err, x.f.GetVars(in("PIOc_get_vars"), int(v), part, data))
	})
}
