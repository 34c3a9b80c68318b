//go:build cgo && unix && !mpi

package main

import (
	"fmt"

	"blobio/capi/internal/edge"
)

var errNoMPI = fmt.Errorf("a communicator is given, but this library was %w: use libblobio_mpi", edge.ErrNoMPI)

func adopt(uintptr) (team, error) { return team{}, errNoMPI }

func adoptFortran(int32) (team, error) { return team{}, errNoMPI }
