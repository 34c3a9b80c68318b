//go:build !mpi || !cgo

package main

import "context"

const mpiBuilt = false

func work(context.Context, string) error { return errNoMPI }
