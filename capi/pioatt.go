//go:build cgo && unix && mpi

package main

// #include "pio/edge.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"

	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/pio"
)

// memory is edge.View for package pio, in which characters are pio.Text.
func memory(t cdf5.Type, p uintptr, n int64) (any, error) {
	if !t.Valid() {
		return nil, fmt.Errorf("memory type %d, want PIO_BYTE to PIO_UINT64: %w", t, pio.EBADTYPE)
	}
	v, err := edge.View(t, p, n)
	if b, ok := v.([]byte); ok && t == cdf5.Char {
		return pio.Text(b), err
	}
	return v, err
}

//export blobioGoPioPutAtt
func blobioGoPioPutAtt(nc, v int32, namep uintptr, t, mem int32, n int64, p uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error {
		value, err := memory(cdf5.Type(cmp.Or(mem, t)), p, n)
		if err != nil {
			return fmt.Errorf("%s: attribute %q: %w", f.Path(), name, err)
		}
		return f.PutAtt(int(v), name, cdf5.Type(t), value)
	})
}

//export blobioGoPioGetAtt
func blobioGoPioGetAtt(nc, v int32, namep uintptr, mem int32, p uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error {
		a, err := f.Att(int(v), name)
		if err != nil {
			return err
		}
		into, err := memory(cmp.Or(cdf5.Type(mem), a.Type), p, a.Len())
		if err != nil {
			return fmt.Errorf("%s: attribute %q: %w", f.Path(), name, err)
		}
		return f.GetAtt(int(v), name, into)
	})
}

//export blobioGoPioInqAtt
func blobioGoPioInqAtt(nc, v int32, namep, typep, np, idp uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error {
		a, err := f.Att(int(v), name)
		if err != nil {
			return err
		}
		id, err := f.AttID(int(v), name)
		return errors.Join(err, edge.Store(typep, int32(a.Type)), edge.Store(np, a.Len()), edge.Store(idp, int32(id)))
	})
}

//export blobioGoPioInqAttName
func blobioGoPioInqAttName(nc, v, i int32, namep uintptr, size int64, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		name, err := x.f.AttName(int(v), int(i))
		if err != nil {
			return err
		}
		return nameInto(namep, size, name)
	})
}

//export blobioGoPioRenameAtt
func blobioGoPioRenameAtt(nc, v int32, namep, top uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error {
		to, err := edge.String("new name", top)
		if err != nil {
			return err
		}
		return f.RenameAtt(int(v), name, to)
	})
}

//export blobioGoPioDelAtt
func blobioGoPioDelAtt(nc, v int32, namep uintptr, e *C.blobio_pio_failure) int32 {
	return named(nc, namep, e, func(f *pio.File, name string) error { return f.DeleteAtt(int(v), name) })
}

// The source may belong to another I/O system, so blobioGoPioCopyAtt never locks both files at
// once.
//
//export blobioGoPioCopyAtt
func blobioGoPioCopyAtt(nc, v int32, namep uintptr, to, tov int32, e *C.blobio_pio_failure) int32 {
	var t cdf5.Type
	var value any
	rc := named(nc, namep, e, func(f *pio.File, name string) error {
		a, err := f.Att(int(v), name)
		t, value = a.Type, a.Value
		if s, ok := value.(string); ok {
			value = pio.Text(s)
		}
		return err
	})
	if rc != 0 {
		return rc
	}
	return named(to, namep, e, func(f *pio.File, name string) error { return f.PutAtt(int(tov), name, t, value) })
}
