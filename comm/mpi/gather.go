//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"slices"
)

func (r *rank) Gather(ctx context.Context, root int, b []byte) ([][]byte, error) {
	if err := r.checkRoot(ctx, root); err != nil {
		return nil, err
	}
	return r.collect(ctx, kGather, root, b)
}

func (r *rank) Allgather(ctx context.Context, b []byte) ([][]byte, error) {
	return r.collect(ctx, kAllgather, -1, b)
}

// collect gathers on root, or on all ranks if root < 0.
func (r *rank) collect(ctx context.Context, k kind, root int, b []byte) (out [][]byte, err error) {
	most, err := r.begin(ctx, mark{sig: sig(k, 0, max(root, 0)), n: int64(len(b))}, b)
	if err != nil {
		return nil, err
	}
	if r.fits(most) {
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

// copies returns copies of the bytes that the ranks stored in the last rendezvous. It makes one
// allocation.
func (r *rank) copies() [][]byte {
	total := 0
	for i := range r.size {
		total += len(r.left(i))
	}
	out, all := make([][]byte, r.size), make([]byte, total)
	for i := range out {
		n := copy(all, r.left(i))
		out[i], all = all[:n:n], all[n:]
	}
	return out
}

// gatherv gathers by MPI calls, on root, or on all ranks if root < 0.
func (l *link) gatherv(ctx context.Context, root int, b []byte) ([][]byte, error) {
	lens, err := l.lengths(ctx, len(b))
	if err != nil {
		return nil, err
	}
	longest, total := slices.Max(lens), int64(0)
	for _, n := range lens {
		total += n
	}
	portion := l.portion(longest, total)
	receives := root < 0 || root == l.rank
	var parts [][]byte
	if receives {
		parts = make([][]byte, l.size)
		for i := range parts {
			parts[i] = make([]byte, int(lens[i]))
		}
	}
	counts, displs := alloc(4*l.size), alloc(4*l.size)
	for k := int64(0); k*portion < longest; k++ {
		sum := layout(counts.ints(l.size), displs.ints(l.size), func(i int) int {
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
			code = C.coll_allgatherv(in.p, C.int(to-from), out.p, counts.intp(), displs.intp(), l.c, &req)
		} else {
			code = C.coll_gatherv(in.p, C.int(to-from), out.p, counts.intp(), displs.intp(), C.int(root), l.c, &req)
		}
		if err := l.finish(ctx, "MPI_Igatherv", code, &req); err != nil {
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
