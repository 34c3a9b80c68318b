//go:build !mpi || !cgo

package main

import "context"

// joinAdvice is how processes come to know of each other.
const joinAdvice = "without MPI start this command once, or build it with MPI (go build -tags mpi)"

// runTogether runs a command line in all processes that were started for it: this one.
func runTogether(ctx context.Context, e *env) int { return run(ctx, e) }
