// Package bench measures what writing, reading, converting and checkpoints take, beside what the machine bears and beside
// other libraries. Workloads are the named measurements of blobio bench; Run runs some.
//
// # How Run measures
//
// A Row is what one way to do a job took, in each of several runs. Rows that are
// compared take turns: A B A B. After each turn the bounds of the row are
// measured: plain writes of the same bytes by as many writers, or plain reads. A
// share of a bound is a ratio of medians.
//
// The clock runs from Create (or open) to the end of Close, on the slowest rank, after a
// barrier. Data and maps are made before, checksums and the manifest are
// inside. Values are the unique pattern of e3smcases.
//
// # Peers
//
// peers holds C programs that write the same job through PnetCDF, HDF5 and
// netCDF-4, as E3SM-IO does. They are built with make when they are wanted, get the
// job as a file (see jobfile.go), make the same data and print the same JSON.
// What they write is compared with what blobio writes, byte by byte where the
// layout is the same, before they are timed. Each is run with some settings of
// MPI-IO first, and timed with the best.
//
// Rows of processes are run by mpirun: Work is what each process does
// (blobio bench worker), with blobio built with the tag mpi.
package bench
