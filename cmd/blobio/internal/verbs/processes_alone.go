//go:build !mpi || !cgo

package verbs

import (
	"context"

	"blobio/internal/cli"
)

// joinAdvice explains how to run processes as one job.
const joinAdvice = "start this command only once, or build it with MPI (go build -tags mpi)"

// runTogether runs a command line in all processes of the job: only this one.
func runTogether(ctx context.Context, e *cli.Env) int { return Run(ctx, e) }
