//go:build cgo && unix && mpi

package main

// #include "pio/edge.h"
import "C"

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/pio"
)

//export blobioGoPioSetFrame
func blobioGoPioSetFrame(nc, v, frame int32, e *C.blobio_pio_failure) int32 {
	// Programs say a negative one of variables that have no frames.
	return onFile(nc, e, func(x *pioFile) error { return x.f.SetFrame(int(v), int64(max(frame, 0))) })
}

//export blobioGoPioAdvanceFrame
func blobioGoPioAdvanceFrame(nc, v int32, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error { return x.f.AdvanceFrame(int(v)) })
}

// darrays are the data of variables as they lie behind each other in memory, and their fill values, which lie there, too, or have addresses there.
func darrays(d *pio.Decomp, vars int, n int64, p, fillsp uintptr, values bool) (data, fills []any, err error) {
	size := int64(d.Type().Size())
	fills = make([]any, vars)
	if n < 0 || vars > 0 && n > math.MaxInt64/size/int64(vars) {
		return nil, nil, edge.Usage("%d elements", n)
	}
	if fillsp != 0 {
		at := make([]uintptr, vars)
		for i := range at {
			at[i] = fillsp + uintptr(int64(i)*size)
		}
		if !values {
			if at, err = edge.Slice[uintptr](fillsp, int64(vars)); err != nil {
				return nil, nil, fmt.Errorf("fill values: %w", err)
			}
		}
		for i := range at {
			if at[i] == 0 {
				continue
			}
			if fills[i], err = memory(d.Type(), at[i], 1); err != nil {
				return nil, nil, fmt.Errorf("fill value: %w", err)
			}
		}
	}
	for i := range vars {
		a, err := memory(d.Type(), p+uintptr(int64(i)*n*size), n)
		if err != nil {
			return nil, nil, err
		}
		data = append(data, a)
	}
	return data, fills, nil
}

// decompOf is that of a handle; without one nil, which package pio tells the other ranks.
func decompOf(id int32) (*pio.Decomp, error) {
	x, err := decomps.get("a decomposition", id)
	if err != nil {
		return nil, err
	}
	return x.d, nil
}

// none is memory of no elements: too little, which package pio tells the other ranks.
func none(t cdf5.Type) any {
	v, err := memory(t, 0, 0)
	if err != nil {
		return nil
	}
	return v
}

// noneOf is none of a decomposition's type.
func noneOf(d *pio.Decomp) any {
	if d == nil {
		return nil
	}
	return none(d.Type())
}

// What is wrong on this rank alone is told to the others when the file is committed: package pio counts the write all the same.
//
//export blobioGoPioWriteDarray
func blobioGoPioWriteDarray(nc, nvars int32, varsp uintptr, decomp int32, n int64, p, framesp, fillsp uintptr, values, flush int32, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		d, err := decompOf(decomp)
		vars, verr := wide("ids of variables", varsp, nvars)
		err = cmp.Or(err, verr)
		var frames []int64
		if framesp != 0 && verr == nil {
			var ferr error
			frames, ferr = wide("frames", framesp, nvars)
			err = cmp.Or(err, ferr)
		}
		var data, fills []any
		if err == nil {
			data, fills, err = darrays(d, len(vars), n, p, fillsp, values != 0)
		}
		if err != nil {
			data, fills = slices.Repeat([]any{noneOf(d)}, len(vars)), make([]any, len(vars))
		}
		ctx := in("PIOc_write_darray")
		for i, v := range vars {
			if frames != nil {
				if ferr := x.f.SetFrame(int(v), max(frames[i], 0)); ferr != nil {
					err = cmp.Or(err, ferr)
					continue
				}
			}
			err = cmp.Or(err, x.f.WriteDarray(ctx, int(v), d, data[i], fills[i]))
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

// frame runs f on a frame of a variable and memory of the decomposition's type, which is converted from or, with back, to that of the caller. What the
// decomposition leaves out stays as it is.
func frame(nc, v, decomp int32, rec int64, mem int32, p uintptr, back bool, e *C.blobio_pio_failure, f func(*pioFile, *pio.Decomp, any) error) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		d, err := decompOf(decomp)
		if err = cmp.Or(err, x.f.SetFrame(int(v), rec)); err != nil {
			return cmp.Or(err, f(x, nil, nil))
		}
		t := cmp.Or(cdf5.Type(mem), d.Type())
		data, err := memory(t, p, d.Len())
		own := data
		if err == nil && t != d.Type() {
			if t == cdf5.Char || d.Type() == cdf5.Char {
				err = fmt.Errorf("%v in memory for a decomposition of %v: %w", t, d.Type(), pio.ECHAR)
			} else if own, err = edge.Make(d.Type(), d.Len()); err == nil && !back {
				err = edge.Convert(own, data, false)
			}
		}
		if err != nil {
			own = noneOf(d)
		}
		if err := cmp.Or(err, f(x, d, own)); err != nil || !back || t == d.Type() {
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
	})
}

//export blobioGoPioPutFrame
func blobioGoPioPutFrame(nc, v, decomp int32, rec int64, mem int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return frame(nc, v, decomp, rec, mem, p, false, e, func(x *pioFile, d *pio.Decomp, data any) error {
		return x.f.WriteDarray(in("PIOc_write_darray"), int(v), d, data, nil)
	})
}

//export blobioGoPioGetFrame
func blobioGoPioGetFrame(nc, v, decomp int32, rec int64, mem int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return frame(nc, v, decomp, rec, mem, p, true, e, func(x *pioFile, d *pio.Decomp, data any) error {
		return x.f.ReadDarray(in("PIOc_read_darray"), int(v), d, data)
	})
}

// part is what is meant of a variable, and where it lies in memory.
type part struct {
	start, count, stride, imap []int64
	data                       any
}

// partOf reads the arguments of a call on much of a variable. A start and a count that the variable does not have are found by package pio, which also
// tells other ranks that there is no memory here.
func (x *pioFile) partOf(v, much int32, startp, countp, stridep, imapp uintptr, mem int32, p uintptr, write bool) (a part, err error) {
	w, err := x.f.Var(int(v))
	if err != nil {
		return a, err
	}
	dims := int64(len(w.Dims))
	if dims > 0 && much != C.PIO_WHOLE {
		if a.start, err = words("start", startp, dims); err != nil {
			return a, err
		}
		if much == C.PIO_ONE {
			a.count = slices.Repeat([]int64{1}, int(dims))
		} else if a.count, err = words("count", countp, dims); err != nil {
			return a, err
		}
		if stridep != 0 {
			a.stride, err = words("stride", stridep, dims)
		}
		if imapp != 0 && err == nil {
			a.imap, err = words("imap", imapp, dims)
		}
		if err != nil {
			return a, err
		}
	}
	count := a.count
	for i, d := range w.Dims {
		if a.count != nil {
			break
		}
		_, n, err := x.f.Dim(d)
		if err != nil {
			return a, err
		}
		if write && i == 0 {
			n = max(n, 1) // the first record
		}
		count = append(count, n)
	}
	a.data, err = memory(cmp.Or(cdf5.Type(mem), w.Type), p, extent(count, a.imap))
	if err != nil {
		a.data, err = none(w.Type), fmt.Errorf("%s: variable %q: %w", x.f.Path(), w.Name, err)
	}
	return a, err
}

// extent is how many elements of memory lie between the first and the last one, with both; 0 for counts that are none.
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

// transfer runs f on a part of a variable. Collective.
func transfer(nc, v, much int32, startp, countp, stridep, imapp uintptr, mem int32, p uintptr, write bool, e *C.blobio_pio_failure, f func(*pio.File, part) error) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		a, err := x.partOf(v, much, startp, countp, stridep, imapp, mem, p, write)
		return cmp.Or(err, f(x.f, a))
	})
}

// Makes a number the least that any rank has. Collective.
//
//export blobioGoPioLeast
func blobioGoPioLeast(nc int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		n, err := words("number", p, 1)
		if err != nil {
			return err
		}
		least, err := x.sys.team.c.AllreduceInt64(in("PIOc_put_vars"), n, comm.Min)
		if err != nil {
			return err
		}
		return edge.Store(p, least[0])
	})
}

//export blobioGoPioPut
func blobioGoPioPut(nc, v, much int32, startp, countp, stridep, imapp uintptr, mem int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return transfer(nc, v, much, startp, countp, stridep, imapp, mem, p, true, e, func(f *pio.File, a part) error {
		return f.PutVars(in("PIOc_put_vars"), int(v), a.start, a.count, a.stride, a.imap, a.data)
	})
}

//export blobioGoPioGet
func blobioGoPioGet(nc, v, much int32, startp, countp, stridep, imapp uintptr, mem int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return transfer(nc, v, much, startp, countp, stridep, imapp, mem, p, false, e, func(f *pio.File, a part) error {
		return f.GetVars(in("PIOc_get_vars"), int(v), a.start, a.count, a.stride, a.imap, a.data)
	})
}
