//go:build cgo && unix && mpi

package main

// #include "pio/edge.h"
import "C"

import (
	"cmp"
	"errors"

	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/pio"
)

// stored stores the id of a new object at out. If err is not nil, it only returns
// err.
func stored(out uintptr, n int, err error) error {
	if err != nil {
		return err
	}
	return edge.Store(out, int32(n))
}

// named runs f with an open file and the name at p.
func named(nc int32, p uintptr, e *C.blobio_pio_failure, f func(*pio.File, string) error) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		name, err := edge.String("name", p)
		if err == nil && len(name) > pio.MaxName {
			err = edge.Usage("name of %d bytes, want at most %d", len(name), pio.MaxName)
		}
		if err != nil {
			return err
		}
		return f(x.f, name)
	})
}

//export blobioGoPioDefDim
func blobioGoPioDefDim(nc int32, namep uintptr, n int64, out uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error {
		d, err := f.DefDim(name, n)
		return stored(out, d, err)
	})
}

//export blobioGoPioRenameDim
func blobioGoPioRenameDim(nc, d int32, namep uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error { return f.RenameDim(int(d), name) })
}

//export blobioGoPioInqDim
func blobioGoPioInqDim(nc, d int32, namep uintptr, size int64, out uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		name, n, err := x.f.Dim(int(d))
		if err != nil {
			return err
		}
		return errors.Join(nameInto(namep, size, name), edge.Store(out, n))
	})
}

// nameInto is edge.PutString, but accepts NULL if the caller does not want the name.
func nameInto(p uintptr, size int64, name string) error {
	if p == 0 {
		return nil
	}
	return edge.PutString("name", p, size, name)
}

//export blobioGoPioInqDimID
func blobioGoPioInqDimID(nc int32, namep, out uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error {
		d, err := f.DimID(name)
		return stored(out, d, err)
	})
}

//export blobioGoPioDefVar
func blobioGoPioDefVar(nc int32, namep uintptr, t, ndims int32, dimsp, out uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error {
		ids, err := wide("ids of dimensions", dimsp, ndims)
		if out == 0 {
			err = cmp.Or(err, edge.Usage("%s: the address for the id of variable %q is NULL", f.Path(), name))
		}
		if err != nil {
			return err
		}
		dims := make([]int, len(ids))
		for i := range ids {
			dims[i] = int(ids[i])
		}
		v, err := f.DefVar(name, cdf5.Type(t), dims)
		return stored(out, v, err)
	})
}

//export blobioGoPioRenameVar
func blobioGoPioRenameVar(nc, v int32, namep uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error { return f.RenameVar(int(v), name) })
}

//export blobioGoPioInqVarID
func blobioGoPioInqVarID(nc int32, namep, out uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error {
		v, err := f.VarID(name)
		return stored(out, v, err)
	})
}

//export blobioGoPioInqVar
func blobioGoPioInqVar(nc, v int32, namep uintptr, size int64, typep, ndimsp, dimsp, nattsp uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		w, err := x.f.Var(int(v))
		if err != nil {
			return err
		}
		if dimsp != 0 {
			dims, err := edge.Slice[int32](dimsp, int64(len(w.Dims)))
			if err != nil {
				return err
			}
			for i := range dims {
				dims[i] = int32(w.Dims[i])
			}
		}
		return errors.Join(nameInto(namep, size, w.Name), edge.Store(typep, int32(w.Type)), edge.Store(ndimsp, int32(len(w.Dims))),
			edge.Store(nattsp, int32(w.NumAtts)))
	})
}

// Fill modes of a file.
const (
	fillOn  = 0
	fillOff = 0x100
)

//export blobioGoPioSetFill
func blobioGoPioSetFill(nc, mode int32, oldp uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		if mode != fillOn && mode != fillOff {
			return edge.Usage("fill mode %d, want PIO_FILL or PIO_NOFILL", mode)
		}
		was, err := x.f.SetFill(mode == fillOff)
		if err != nil {
			return err
		}
		if was {
			return edge.Store(oldp, int32(fillOff))
		}
		return edge.Store(oldp, int32(fillOn))
	})
}

//export blobioGoPioDefVarFill
func blobioGoPioDefVarFill(nc, v, off int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		w, err := x.f.Var(int(v))
		if err != nil {
			return err
		}
		var value any
		if off != fillOn && off != 1 && off != fillOff {
			return edge.Usage("%s: fill mode %d of %q, want PIO_FILL, PIO_NOFILL or 1", x.f.Path(), off, w.Name)
		}
		if off == fillOn && p == 0 {
			return edge.Usage("%s: the fill value of %q is NULL", x.f.Path(), w.Name)
		}
		if p != 0 {
			if value, err = memory(w.Type, p, 1); err != nil {
				return err
			}
		}
		return x.f.DefVarFill(int(v), off != 0, value)
	})
}

//export blobioGoPioInqVarFill
func blobioGoPioInqVarFill(nc, v int32, offp, p uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		w, err := x.f.Var(int(v))
		if err != nil {
			return err
		}
		if p != 0 {
			into, err := edge.Slice[byte](p, int64(w.Type.Size()))
			if err != nil {
				return err
			}
			copy(into, edge.Bytes(w.Fill))
		}
		return edge.Store(offp, int32(bit(w.NoFill)))
	})
}
