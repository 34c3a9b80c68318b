//go:build cgo && unix && mpi

package main

// #cgo !mpich pkg-config: ompi-c
// #cgo mpich pkg-config: mpich
// #include "edge.h"
import "C"

import (
	"context"

	"blobio/comm/mpi"
)

// adopt returns the team of a communicator, which is given as a word. Collective.
func adopt(h uintptr) (team, error) {
	e, err := mpi.Adopt(mpi.Handle(h), nil)
	if err != nil {
		return team{}, err
	}
	return team{c: e.World(), fail: e.Fail, free: func(ctx context.Context) error { return e.Finalize(ctx) }}, nil
}

// adoptFortran is adopt for a Fortran communicator.
func adoptFortran(f int32) (team, error) { return adopt(uintptr(mpi.FortranHandle(f))) }

// aloneAmongOthers accepts an MPI program that passes no communicator. Each of its processes then
// writes alone.
func aloneAmongOthers(string) error { return nil }
