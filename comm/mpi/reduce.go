//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"unsafe"

	"blobio/comm"
)

func (r *rank) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	return r.reduce(ctx, kAllreduce, v, op)
}

func (r *rank) ExscanInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	return r.reduce(ctx, kExscan, v, op)
}

func (r *rank) reduce(ctx context.Context, k kind, v []int64, op comm.Op) (res []int64, err error) {
	if !op.Valid() {
		return nil, r.call(ctx, func() error { return r.usage("operation %v is not valid in a reduction", op) })
	}
	if _, err := r.begin(ctx, mark{sig: sig(k, op, 0), elems: int64(len(v))}, raw(v)); err != nil {
		return nil, err
	}
	if res = make([]int64, len(v)); !r.fold(k, op, res) {
		err := r.call(ctx, func() error {
			copy(res, v)
			return r.reduction(ctx, k, op, res)
		})
		if err != nil {
			return nil, err
		}
	}
	if k == kExscan && r.rank == 0 { // MPI leaves rank 0's result undefined
		for i := range res {
			res[i] = op.IdentityInt64()
		}
	}
	return res, nil
}

func raw(v []int64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}

func numbers(b []byte) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// reduction calls MPI's reduction in place.
func (l *link) reduction(ctx context.Context, k kind, op comm.Op, res []int64) error {
	most := min(len(res), l.e.opts.Piece/8)
	in, out := alloc(8*most), alloc(8*most)
	for rest := res; len(rest) > 0; {
		n := min(len(rest), most)
		copy(in.int64s(n), rest)
		var req C.MPI_Request
		var code C.int
		if k == kAllreduce {
			code = C.coll_allreduce(in.int64p(), out.int64p(), C.int(n), C.int(op), l.c, &req)
		} else {
			code = C.coll_exscan(in.int64p(), out.int64p(), C.int(n), C.int(op), l.c, &req)
		}
		if err := l.finish(ctx, "reduction", code, &req); err != nil {
			return err
		}
		copy(rest, out.int64s(n))
		rest = rest[n:]
	}
	free(in, out)
	return nil
}
