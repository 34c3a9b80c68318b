// Package mpitest runs programs under mpirun, for tests with the build tag mpi. It needs no MPI itself.
package mpitest
