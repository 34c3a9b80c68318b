//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"math"

	"blobio/comm"
)

func (r *rank) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	return r.split(ctx, kSplit, color, func(out *C.MPI_Comm) (string, C.int) {
		return "MPI_Comm_split", C.comm_split(r.c, C.int(max(color, -1)), C.int(key), out)
	}, key)
}

func (r *rank) SplitNode(ctx context.Context) (comm.Comm, error) {
	return r.split(ctx, kSplitNode, 0, func(out *C.MPI_Comm) (string, C.int) {
		if per := r.e.opts.RanksPerNode; per > 0 {
			return "MPI_Comm_split", C.comm_split(r.c, C.int(r.rank/per), C.int(r.rank), out)
		}
		return "MPI_Comm_split_type", C.comm_split_node(r.c, out)
	}, 0)
}

func (r *rank) split(ctx context.Context, k kind, color int, make func(out *C.MPI_Comm) (string, C.int), key int) (c comm.Comm, err error) {
	err = r.call(ctx, func() error {
		if color > math.MaxInt32 || key > math.MaxInt32 || key < math.MinInt32 {
			return r.usage("color %d and key %d, want numbers of 32 bits", color, key)
		}
		if _, err := r.header(ctx, k, 0, 0, 0, 0, true); err != nil {
			return err
		}
		var out C.MPI_Comm
		what, code := make(&out)
		if err := r.e.mpi(what, code); err != nil {
			return err
		}
		if f := r.e.failure.Load(); f != nil {
			return f.own
		}
		if color < 0 {
			return nil
		}
		sub, err := r.e.newRank(out)
		if err != nil {
			return r.e.failRank(err)
		}
		c = sub
		return nil
	})
	return c, err
}
