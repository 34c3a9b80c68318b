//go:build !mpi || !cgo

package verbs

import (
	"context"

	"blobio/internal/cli"
)

// joinAdvice is how processes come to know of each other.
const joinAdvice = "start this command only once, or build it with MPI (go build -tags mpi)"

// runTogether runs a command line in all processes that were started for it: this one.
func runTogether(ctx context.Context, e *cli.Env) int { return Run(ctx, e) }
