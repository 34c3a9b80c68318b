//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"runtime"
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
		return nil, r.call(ctx, func() error { return r.checkOp(op) })
	}
	if r.board == nil && k == kAllreduce && (op == comm.Max || op == comm.Min) && len(v) <= freeWords {
		return r.short(ctx, v, op)
	}
	var data []byte
	if r.board != nil {
		data = raw(v)
	}
	if _, err := r.begin(ctx, k, op, 0, len(v), 0, data); err != nil {
		return nil, err
	}
	if res = unfilledWords(len(v)); r.board.fits(8 * int64(len(v))) {
		r.fold(k, op, res)
	} else {
		err := r.call(ctx, func() error {
			if r.pulls() {
				return r.reduceNear(ctx, k, op, v, res)
			}
			copy(res, v)
			return r.reduction(ctx, k, op, res)
		})
		if err != nil {
			return nil, err
		}
	}
	if k == kExscan && r.rank == 0 { // MPI leaves it undefined
		for i := range res {
			res[i] = op.IdentityInt64()
		}
	}
	return res, nil
}

func raw(v []int64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}

// fold reduces what lies on the board, in the order of the ranks.
func (r *rank) fold(k kind, op comm.Op, res []int64) {
	n := r.size
	if k == kExscan {
		n = r.rank
	}
	for j := range n {
		b := r.board.left(j)
		x := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8) // slots are aligned
		if j == 0 {
			copy(res, x)
		} else {
			op.CombineInt64(res, x)
		}
	}
}

// sectionWords is how much of a section is combined at a time: it stays in the cache.
const sectionWords = 16 << 10

// reduceNear reduces what is too long for the board and was lent by all: each rank reads a section of all ranks and combines it, and
// then from each rank what that one has made of its section.
func (r *rank) reduceNear(ctx context.Context, k kind, op comm.Op, v, res []int64) error {
	begins := func(i int) int { return int(int64(len(v)) * int64(i) / int64(r.size)) }
	from, to := begins(r.rank), begins(r.rank+1)
	n, rows := to-from, 1
	if k == kExscan {
		rows = r.size // one for each rank
	}
	out, part := r.e.words(rows*n), r.e.words(min(n, sectionWords))
	for lo := 0; lo < n; lo += sectionWords {
		hi := min(lo+sectionWords, n)
		for j := range r.size { // in order
			x := v[from+lo : from+hi]
			if j != r.rank {
				x = part[:hi-lo]
				at, _ := r.lent(j)
				if err := r.pull(j, at+8*uint64(from+lo), raw(x)); err != nil {
					return err
				}
			}
			row := out[lo:hi]
			if k == kExscan {
				if j+1 == r.size {
					break
				}
				row = out[(j+1)*n+lo : (j+1)*n+hi]
				copy(row, out[j*n+lo:])
			}
			if j == 0 {
				copy(row, x)
			} else {
				op.CombineInt64(row, x)
			}
		}
	}
	err := r.meet(ctx, mark{}, raw(out), false)
	runtime.KeepAlive(v) // now that out may be the loan
	if err != nil {
		return err
	}
	for i := range r.size {
		from, to := begins(i), begins(i+1)
		at := 0
		if k == kExscan {
			at = 8 * r.rank * (to - from)
		}
		if left := r.board.left(i); left != nil {
			copy(raw(res[from:to]), left[at:])
		} else if i == r.rank {
			copy(raw(res[from:to]), raw(out)[at:])
		} else {
			lent, _ := r.lent(i)
			if err := r.pull(i, lent+uint64(at), raw(res[from:to])); err != nil {
				return err
			}
		}
	}
	if err := r.returned(ctx); err != nil {
		return err
	}
	r.e.spares.add(raw(out), raw(part))
	return nil
}

// reduction is that of MPI, in place.
func (r *rank) reduction(ctx context.Context, k kind, op comm.Op, res []int64) error {
	most := min(len(res), r.e.opts.Piece/8)
	in, out := alloc(8*most), alloc(8*most)
	for rest := res; len(rest) > 0; {
		n := min(len(rest), most)
		copy(in.int64s(n), rest)
		var req C.MPI_Request
		var code C.int
		if k == kAllreduce {
			code = C.coll_allreduce(in.int64p(), out.int64p(), C.int(n), C.int(op), r.c, &req)
		} else {
			code = C.coll_exscan(in.int64p(), out.int64p(), C.int(n), C.int(op), r.c, &req)
		}
		if err := r.finish(ctx, "reduction", code, &req); err != nil {
			return err
		}
		copy(rest, out.int64s(n))
		rest = rest[n:]
	}
	free(in, out)
	return nil
}
