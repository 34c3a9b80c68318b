//go:build mpi && cgo

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"blobio/comm"
	"blobio/comm/mpi"
)

// join makes the process one of several.
func (e *env) join(p *processes) {
	e.procs = p
	if !e.root() {
		e.stdout, e.stderr, e.noProgress = io.Discard, io.Discard, true
	}
}

// runTogether runs a command line in all processes that mpirun or srun started. Started by hand, this
// one is alone, and MPI is not even begun.
func runTogether(ctx context.Context, e *env) int {
	if !launched() {
		return run(ctx, e)
	}
	job, err := mpi.Init(nil)
	if err != nil {
		fmt.Fprintln(e.stderr, "blobio:", err)
		return exitFailed
	}
	errs := e.stderr
	e.join(&processes{comm: job.World(), fail: job.Fail, onNodes: func(ranksPerNode int, f func(c comm.Comm) error) error {
		part, err := job.Adopt(mpi.World(), &mpi.Options{RanksPerNode: ranksPerNode})
		if err != nil {
			return err
		}
		err = f(part.World())
		part.Fail(err)
		if ferr := part.Finalize(ctx); err == nil {
			err = ferr
		}
		return err
	}})
	code := run(ctx, e)
	// What is printed is printed before the processes part: of some launchers the
	// first bad exit code ends all others.
	if err := job.Finalize(ctx); err != nil && code == exitGood {
		fmt.Fprintln(errs, "blobio:", err)
		return exitFailed
	}
	return code
}

// launched says whether a launcher of MPI programs started this process. BLOBIO_MPI set to 1 or 0 has the last
// word.
func launched() bool {
	if v := os.Getenv("BLOBIO_MPI"); v != "" {
		return v != "0"
	}
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD", "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}
