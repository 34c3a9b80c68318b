//go:build !mpi || !cgo

package main

import (
	"context"

	"blobio/comm"
)

// launch runs f on ranks of this process, two on a node.
func launch(ranks int, f func(ctx context.Context, c comm.Comm) error) error {
	return comm.Run(context.Background(), ranks, &comm.Options{RanksPerNode: 2}, f)
}
