//go:build cgo && unix && mpi

package main

// #include "pio/edge.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/pio"
)

// bufferLimit is the maximum number of bytes that a rank buffers before a write. If it is negative, the default of package pio
// applies.
var bufferLimit atomic.Int64

func init() { bufferLimit.Store(-1) }

//export blobioGoPioInit
func blobioGoPioInit(world uintptr, iotasks, stride, base, rearr int32, out uintptr, e *C.blobio_pio_failure) int32 {
	return anyhow(e, func() error {
		t, err := adopt(world)
		if err != nil {
			return err
		}
		sys := &pioSystem{team: t, handler: defaultHandler.Load(), cache: usualCache}
		ctx := in("PIOc_Init_Intracomm")
		err = t.together(func() error {
			var err error
			switch {
			case out == 0:
				err = edge.Usage("the address for the I/O system id is NULL")
			case iotasks < 1 || stride < 1: // package pio would take 0 as a default
				err = edge.Usage("%d I/O tasks with stride %d, want both at least 1", iotasks, stride)
			case rearr < 0 || rearr > 4: // box, subset, and SCORPIO's any and contiguous; 0 for the default
				err = edge.Usage("rearranger %d, want 1 to 4", rearr)
			}
			if err := sys.agreed(ctx, err); err != nil {
				return err
			}
			o := &pio.SystemOptions{IOTasks: int(iotasks), Stride: int(stride), Base: int(base)}
			sys.s, err = pio.NewSystem(ctx, t.c, o)
			return err
		})
		if err != nil {
			return cmp.Or(err, t.leave(ctx))
		}
		return edge.Store(out, systems.add(sys))
	})
}

//export blobioGoPioFinalize
func blobioGoPioFinalize(id int32, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		ctx := in("PIOc_finalize")
		var errs []error
		for _, nc := range opened.in(func(x *pioFile) bool { return x.sys == sys }) { // commit files that the program has left open
			if x, err := opened.get("", nc); err == nil {
				errs = append(errs, x.f.Close(in("PIOc_closefile"))) // another rank may have closed the file explicitly
				opened.drop(nc)
			}
		}
		for _, d := range decomps.in(func(d *pioDecomp) bool { return d.sys == sys }) {
			decomps.drop(d)
		}
		systems.drop(id)
		return errors.Join(append(errs, sys.team.leave(ctx))...)
	})
}

//export blobioGoPioSystem
func blobioGoPioSystem(id int32, tasksp, memberp, rankp uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		task := sys.s.IOTask()
		return errors.Join(edge.Store(tasksp, int32(sys.s.Options().IOTasks)), edge.Store(memberp, int32(bit(task >= 0))), edge.Store(rankp, int32(task)))
	})
}

//export blobioGoPioSystemOf
func blobioGoPioSystemOf(nc int32, out uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error { return edge.Store(out, x.id) })
}

// handle sets the error handling method and stores the previous method at oldp.
func handle(method int32, old int32, oldp uintptr, set func(int32)) error {
	if method > handleInternal || method < handleReturn {
		return edge.Usage("error handling %d, want %d to %d", method, handleReturn, handleInternal)
	}
	set(method)
	return edge.Store(oldp, old)
}

//export blobioGoPioSystemHandler
func blobioGoPioSystemHandler(id, method int32, oldp uintptr, e *C.blobio_pio_failure) int32 {
	if id == -1 {
		return anyhow(e, func() error { return handle(method, defaultHandler.Load(), oldp, defaultHandler.Store) })
	}
	return onSystem(id, e, func(sys *pioSystem) error {
		return handle(method, sys.handler, oldp, func(m int32) { sys.handler = m })
	})
}

//export blobioGoPioFileHandler
func blobioGoPioFileHandler(nc, method int32, oldp uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		return handle(method, cmp.Or(x.handler, x.sys.handler), oldp, func(m int32) { x.handler = m })
	})
}

// formHint is the name of the hint that selects the form of the files. All other hints are meant for MPI and are ignored.
const formHint = "blobio_pio"

//export blobioGoPioHint
func blobioGoPioHint(id int32, namep, valuep uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		name, err := edge.String("hint", namep)
		if err != nil {
			return err
		}
		value, err := edge.String("value of the hint", valuep)
		if err != nil || name != formHint {
			return err
		}
		if _, err := pio.ParseForm(value); err != nil {
			return err
		}
		sys.form = value
		return nil
	})
}

// Not collective. A negative limit changes nothing, and 0 turns buffering off. If no limit was set before, the old limit is
// usual.
//
//export blobioGoPioBufferLimit
func blobioGoPioBufferLimit(limit, usual int64, oldp uintptr, e *C.blobio_pio_failure) int32 {
	return anyhow(e, func() error {
		old := bufferLimit.Load()
		if old < 0 {
			old = usual
		}
		if limit >= 0 {
			bufferLimit.Store(limit)
		}
		return edge.Store(oldp, old)
	})
}

//export blobioGoPioRefuse
func blobioGoPioRefuse(id, code int32, textp uintptr, e *C.blobio_pio_failure) int32 {
	refuse := func() error {
		text, err := edge.String("text", textp)
		return cmp.Or(err, fmt.Errorf("%s: %w", text, pio.Code(code)))
	}
	if id == -1 {
		return anyhow(e, refuse)
	}
	return onSystem(id, e, func(*pioSystem) error { return refuse() })
}

// wide reads n numbers of type int.
func wide(what string, p uintptr, n int32) ([]int64, error) {
	v, err := edge.Slice[int32](p, int64(n))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out := make([]int64, len(v))
	for i := range v {
		out[i] = int64(v[i])
	}
	return out, nil
}

// array holds the arguments that describe the array of a decomposition.
type array struct {
	ndims int32
	dims  uintptr
	out   uintptr // address for the handle of the decomposition
}

// decomp makes a decomposition and stores its handle. more reads the other arguments. make receives the lengths of the
// dimensions. Collective.
func (s *pioSystem) decomp(ctx context.Context, a array, more func() error, make func(dims []int64) (*pio.Decomp, error)) error {
	dims, err := wide("lengths of dimensions", a.dims, a.ndims)
	if a.out == 0 {
		err = cmp.Or(err, edge.Usage("the address for the decomposition id is NULL"))
	}
	if err == nil {
		err = more()
	}
	if err := s.agreed(ctx, err); err != nil {
		return err
	}
	d, err := make(dims)
	if err != nil {
		return err
	}
	return edge.Store(a.out, decomps.add(&pioDecomp{s, d}))
}

//export blobioGoPioInitDecomp
func blobioGoPioInitDecomp(id, t, ndims int32, dimsp uintptr, n int64, mapp uintptr, flags int32, out uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		var places []int64
		ctx := in("PIOc_InitDecomp")
		return sys.decomp(ctx, array{ndims, dimsp, out}, func() error {
			v, err := words("compmap", mapp, n)
			places = slices.Clone(v)
			return err
		}, func(dims []int64) (*pio.Decomp, error) {
			if flags&C.PIO_OF_NCAR != 0 {
				pio.Wrap(dims, places)
			}
			return sys.s.InitDecomp(ctx, cdf5.Type(t), dims, places, flags&C.PIO_READONLY != 0)
		})
	})
}

//export blobioGoPioInitDecompBlock
func blobioGoPioInitDecompBlock(id, t, ndims int32, dimsp, startp, countp, out uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		var start, count []int64
		ctx := in("PIOc_InitDecomp_bc")
		return sys.decomp(ctx, array{ndims, dimsp, out}, func() error {
			s, err := edge.Slice[C.long](startp, int64(ndims))
			if err != nil {
				return fmt.Errorf("start: %w", err)
			}
			c, err := edge.Slice[C.long](countp, int64(ndims))
			if err != nil {
				return fmt.Errorf("count: %w", err)
			}
			for i := range s {
				start, count = append(start, int64(s[i])), append(count, int64(c[i]))
			}
			return nil
		}, func(dims []int64) (*pio.Decomp, error) {
			return sys.s.InitDecompBlock(ctx, cdf5.Type(t), dims, start, count)
		})
	})
}

// A file keeps the decompositions that it still needs.
//
//export blobioGoPioFreeDecomp
func blobioGoPioFreeDecomp(id, d int32, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(*pioSystem) error {
		_, err := decomps.get("a decomposition", d)
		if err == nil {
			decomps.drop(d)
		}
		return err
	})
}

//export blobioGoPioLocalSize
func blobioGoPioLocalSize(d int32, out uintptr, e *C.blobio_pio_failure) int32 {
	return anyhow(e, func() error {
		x, err := decomps.get("a decomposition", d)
		if err != nil {
			return err
		}
		return edge.Store(out, int32(x.d.Len()))
	})
}
