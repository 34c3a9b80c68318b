package main

import (
	"blobio/internal/base/testfiles"
	"testing"
)

func TestAddressesOfNothingUnderMPI(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "mpicc.openmpi", "mpirun.openmpi", "pkg-config")
	run(t, "mpirun.openmpi", "-n", "3", compile(t, "mpicc.openmpi", "testdata/address.c", library(t, "MPI=ompi"), "blobio_mpi"), t.TempDir())
}
