//go:build cgo && unix && !mpi

package main

import (
	"fmt"

	"blobio/capi/internal/edge"
	"blobio/internal/base/launcher"
)

var errNoMPI = fmt.Errorf("a communicator was passed, but this library was %w: use libblobio_mpi", edge.ErrNoMPI)

func adopt(uintptr) (team, error) { return team{}, errNoMPI }

func adoptFortran(int32) (team, error) { return team{}, errNoMPI }

// aloneAmongOthers returns an error in one of several processes, because each of them would write
// the whole dataset.
func aloneAmongOthers(name string) error {
	s := launcher.Several()
	if s == "" {
		return nil
	}
	return fmt.Errorf("%s: this process is %s, but this library was %w, so each process would write the whole dataset: use libblobio_mpi with a communicator, or set %s=0 to write one dataset per process", name, s, edge.ErrNoMPI, launcher.Variable)
}
