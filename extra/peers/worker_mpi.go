//go:build mpi && cgo

package main

import (
	"context"
	"encoding/json"
	"os"

	"blobio/comm"
	"blobio/comm/mpi"
)

const mpiBuilt = true

// work does the task in a work file, as one of the processes of mpirun.
func work(ctx context.Context, file string) error {
	w, err := LoadWork(file)
	if err != nil {
		return err
	}
	return mpi.Run(ctx, nil, func(ctx context.Context, c comm.Comm) error {
		took, err := w.Do(ctx, Engine{Ranks: c.Size(), Processes: true, Run: func(ctx context.Context, f func(context.Context, comm.Comm) error) error { return f(ctx, c) }})
		if err != nil || c.Rank() != 0 {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(took)
	})
}
