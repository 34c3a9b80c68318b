// Command mpi writes a first dataset under mpirun or srun, and reads it back:
//
//	go build -tags mpi -o first ./examples/mpi
//	mpirun -n 4 ./first first.nc
//
// Without the tag mpi it only prints how to build it.
package main
