//go:build mpi && cgo

package main

import (
	"context"
	"fmt"
	"io"

	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/launcher"
)

// joinAdvice is how processes come to know of each other.
const joinAdvice = "start it by mpirun, or by srun with --mpi=pmix or pmi2"

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
	if !launcher.MPI() {
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
