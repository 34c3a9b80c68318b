//go:build cgo && unix && mpi

package main

// #include <stdlib.h>
// #include "pio/edge.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"unsafe"

	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/pio"
)

// among runs f with the ranks of a communicator, which is used only for this
// call. Collective.
func among(world uintptr, call string, f func(context.Context, comm.Comm) error) error {
	t, err := adopt(world)
	if err != nil {
		return err
	}
	ctx := in(call)
	err = t.together(func() error { return f(ctx, t.c) })
	return cmp.Or(err, t.leave(ctx))
}

//export blobioGoPioWriteMap
func blobioGoPioWriteMap(world, pathp uintptr, ndims int32, dimsp uintptr, n int64, mapp uintptr, e *C.blobio_pio_failure) int32 {
	return anyhow(e, func() error {
		return among(world, "PIOc_writemap", func(ctx context.Context, c comm.Comm) error {
			var dims, places []int64
			name, err := path(pathp)
			if err == nil {
				dims, err = wide("lengths of dimensions", dimsp, ndims)
			}
			if err == nil {
				places, err = words("map", mapp, n)
			}
			if err := agreed(ctx, c, err); err != nil {
				return err
			}
			return pio.WriteMap(ctx, c, name, dims, places)
		})
	})
}

// copied copies values to C memory of at least one byte. The caller must free
// it.
func copied[T any](v []T) (uintptr, error) {
	n := uintptr(len(v)) * unsafe.Sizeof(*new(T))
	p := C.malloc(C.size_t(n + 1))
	if p == nil {
		return 0, fmt.Errorf("cannot allocate %d bytes: %w", n, pio.ENOMEM)
	}
	copy(unsafe.Slice((*T)(p), len(v)), v)
	return uintptr(p), nil
}

//export blobioGoPioReadMap
func blobioGoPioReadMap(world, pathp, ndimsp, dimsp, np, mapp uintptr, e *C.blobio_pio_failure) int32 {
	return anyhow(e, func() error {
		return among(world, "PIOc_readmap", func(ctx context.Context, c comm.Comm) error {
			name, err := path(pathp)
			if ndimsp == 0 || dimsp == 0 || np == 0 || mapp == 0 {
				err = cmp.Or(err, edge.Usage("an address for the dimensions, the map or their numbers is NULL"))
			}
			if err := agreed(ctx, c, err); err != nil {
				return err
			}
			dims, places, err := pio.ReadMap(ctx, c, name)
			if err != nil {
				return err
			}
			small := make([]int32, len(dims))
			for i, n := range dims {
				if small[i] = int32(n); int64(small[i]) != n {
					return fmt.Errorf("%s: dimension %d has length %d, want at most 32 bits: %w", name, i, n, pio.ERANGE)
				}
			}
			dp, err := copied(small)
			if err != nil {
				return err
			}
			mp, err := copied(places)
			return errors.Join(err, edge.Store(ndimsp, int32(len(dims))), edge.Store(dimsp, dp), edge.Store(np, int64(len(places))), edge.Store(mapp, mp))
		})
	})
}

//export blobioGoPioWriteText
func blobioGoPioWriteText(id int32, pathp uintptr, d int32, world uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(*pioSystem) error {
		x, err := decomps.get("a decomposition", d)
		if err != nil {
			return err
		}
		return among(world, "PIOc_write_decomp", func(ctx context.Context, c comm.Comm) error {
			name, err := path(pathp)
			if err := agreed(ctx, c, err); err != nil {
				return err
			}
			return pio.WriteMap(ctx, c, name, x.d.Dims(), x.d.Map())
		})
	})
}

//export blobioGoPioWriteDecomp
func blobioGoPioWriteDecomp(id int32, pathp uintptr, mode, d int32, titlep, historyp uintptr, fortran int32, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		ctx := in("PIOc_write_nc_decomp")
		x, err := decomps.get("a decomposition", d)
		if err != nil {
			return err
		}
		info := pio.DecompInfo{Fortran: fortran != 0, NCAR: mode&C.PIO_OF_NCAR != 0}
		name, err := path(pathp)
		if err == nil {
			info.Title, err = optional("title", titlep)
		}
		if err == nil {
			info.History, err = optional("history", historyp)
		}
		if err := sys.agreed(ctx, err); err != nil {
			return err
		}
		return sys.s.WriteDecomp(ctx, name, x.d, info, mode&modeNoClobber != 0)
	})
}

//export blobioGoPioReadDecomp
func blobioGoPioReadDecomp(id int32, pathp uintptr, t int32, out, titlep, historyp uintptr, size int64, fortranp uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		ctx := in("PIOc_read_nc_decomp")
		name, err := path(pathp)
		if out == 0 {
			err = cmp.Or(err, edge.Usage("the address for the decomposition id is NULL"))
		}
		if err := sys.agreed(ctx, err); err != nil {
			return err
		}
		d, info, err := sys.s.ReadDecomp(ctx, name, cdf5.Type(t))
		if err != nil {
			return err
		}
		return errors.Join(nameInto(titlep, size, info.Title), nameInto(historyp, size, info.History), edge.Store(fortranp, int32(bit(info.Fortran))),
			edge.Store(out, decomps.add(&pioDecomp{sys, d})))
	})
}
