//go:build !mpi || !cgo

package main

import "context"

// runTogether runs a command line in all processes that were started for it: this one.
func runTogether(ctx context.Context, e *env) int { return run(ctx, e) }
