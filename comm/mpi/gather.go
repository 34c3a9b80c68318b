//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"slices"
)

func (r *rank) Gather(ctx context.Context, root int, b []byte) ([][]byte, error) {
	if err := r.usable(ctx, root); err != nil {
		return nil, err
	}
	return r.collect(ctx, kGather, root, b)
}

func (r *rank) Allgather(ctx context.Context, b []byte) ([][]byte, error) {
	return r.collect(ctx, kAllgather, -1, b)
}

// collect gathers on root, or on all if root < 0.
func (r *rank) collect(ctx context.Context, k kind, root int, b []byte) (out [][]byte, err error) {
	most, err := r.begin(ctx, k, 0, max(root, 0), 0, len(b), b)
	if err != nil {
		return nil, err
	}
	if r.board.fits(most) {
		if root < 0 || root == r.rank {
			out = r.copies()
		}
		return out, nil
	}
	err = r.call(ctx, func() (err error) {
		out, err = r.gatherv(ctx, root, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// copies are the bytes of all that lie on the board, in one piece of memory.
func (r *rank) copies() [][]byte {
	total := 0
	for i := range r.size {
		total += len(r.board.left(i))
	}
	out, all := make([][]byte, r.size), make([]byte, total)
	for i := range out {
		n := copy(all, r.board.left(i))
		out[i], all = all[:n:n], all[n:]
	}
	return out
}

// lengths tells all ranks a number of each.
func (r *rank) lengths(ctx context.Context, n int) ([]int64, error) {
	if b := r.board; b != nil {
		if err := r.meet(ctx, mark{n: int64(n)}, nil, false); err != nil {
			return nil, err
		}
		all := make([]int64, r.size)
		for j := range all {
			all[j] = b.last(j).n
		}
		return all, nil
	}
	in, out := alloc(8), alloc(8*r.size)
	in.int64s(1)[0] = int64(n)
	var req C.MPI_Request
	err := r.finish(ctx, "MPI_Iallgather", C.coll_allgather64(in.int64p(), out.int64p(), r.c, &req), &req)
	if err != nil {
		return nil, err
	}
	defer free(in, out)
	return slices.Clone(out.int64s(r.size)), nil
}

// gatherv gathers on root, or on all if root < 0.
func (r *rank) gatherv(ctx context.Context, root int, b []byte) ([][]byte, error) {
	lens, err := r.lengths(ctx, len(b))
	if err != nil {
		return nil, err
	}
	longest, total := slices.Max(lens), int64(0)
	for _, n := range lens {
		total += n
	}
	portion := r.portion(longest, total)
	receives := root < 0 || root == r.rank
	var parts [][]byte
	if receives {
		parts = make([][]byte, r.size)
		for i := range parts {
			parts[i] = make([]byte, int(lens[i]))
		}
	}
	counts, displs := alloc(4*r.size), alloc(4*r.size)
	for k := int64(0); k*portion < longest; k++ {
		sum := layout(counts.ints(r.size), displs.ints(r.size), func(i int) int {
			from, to := cut(lens[i], k, portion)
			return int(to - from)
		})
		if !receives {
			sum = 0
		}
		from, to := cut(int64(len(b)), k, portion)
		in, out := alloc(int(to-from)), alloc(sum)
		copy(in.bytes(int(to-from)), b[from:to])
		var req C.MPI_Request
		var code C.int
		if root < 0 {
			code = C.coll_allgatherv(in.p, C.int(to-from), out.p, counts.intp(), displs.intp(), r.c, &req)
		} else {
			code = C.coll_gatherv(in.p, C.int(to-from), out.p, counts.intp(), displs.intp(), C.int(root), r.c, &req)
		}
		if err := r.finish(ctx, "MPI_Igatherv", code, &req); err != nil {
			return nil, err
		}
		if receives {
			got := out.bytes(sum)
			for i, p := range parts {
				from, to := cut(lens[i], k, portion)
				got = got[copy(p[from:to], got):]
			}
		}
		free(in, out)
	}
	free(counts, displs)
	return parts, nil
}
