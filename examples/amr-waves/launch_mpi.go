//go:build mpi && cgo

package main

import (
	"context"

	"blobio/comm"
	"blobio/comm/mpi"
)

// launch runs f on the processes of the job, two per node, as the variant without MPI does.
func launch(_ int, f func(ctx context.Context, c comm.Comm) error) error {
	return mpi.Run(context.Background(), &mpi.Options{RanksPerNode: 2}, f)
}
