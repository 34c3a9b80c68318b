// Command speed prints how long the calls of comm/mpi take between processes, beside what the MPI library itself takes for
// the same in the same processes:
//
//	CGO_ENABLED=1 go build -tags mpi -o speed ./internal/mpitest/speed
//	mpirun -n 4 ./speed
//
// Each row is the median of some rounds in which both are timed in turn, on the slowest process.
package main
