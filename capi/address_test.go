package main

import "testing"

func TestAddressesOfNothingUnderMPI(t *testing.T) {
	all(t)
	need(t, "mpicc.openmpi", "mpirun.openmpi", "pkg-config")
	run(t, "mpirun.openmpi", "-n", "3", compile(t, "mpicc.openmpi", "testdata/address.c", library(t, "MPI=ompi"), "blobio_mpi"), t.TempDir())
}
