//go:build mpi && cgo

package verbs

import (
	"context"
	"fmt"
	"io"

	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/base/launcher"
	"blobio/internal/cli"
)

// joinAdvice explains how to run processes as one job.
const joinAdvice = "start the command with mpirun, or with srun --mpi=pmix or --mpi=pmi2"

// join makes the process part of a job.
func join(e *cli.Env, p *cli.Processes) {
	e.Procs = p
	if !e.Root() {
		e.Stdout, e.Stderr, e.NoProgress = io.Discard, io.Discard, true
	}
}

// runTogether runs a command line in all processes started by mpirun or srun. If the user started the process directly, it runs
// alone without initializing MPI.
func runTogether(ctx context.Context, e *cli.Env) int {
	if !launcher.MPI() {
		return Run(ctx, e)
	}
	job, err := mpi.Init(nil)
	if err != nil {
		fmt.Fprintln(e.Stderr, "blobio:", err)
		return cli.Failed
	}
	errs := e.Stderr
	join(e, &cli.Processes{Comm: job.World(), Fail: job.Fail, OnNodes: func(ranksPerNode int, f func(c comm.Comm) error) error {
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
	code := Run(ctx, e)
	// Print before the processes exit: with some launchers the first nonzero exit code ends all others.
	if err := job.Finalize(ctx); err != nil && code == cli.Good {
		fmt.Fprintln(errs, "blobio:", err)
		return cli.Failed
	}
	return code
}
