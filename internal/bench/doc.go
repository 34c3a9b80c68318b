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
//
// # In place
//
// Datasets that are read where they are (workload inplace) are shown by processes of blobio that begin anew for each run: blobio
// mount, blobio serve, and a pass-through mounted in the same way. Tools read through them, by tools/inplace.py where they are of
// Python, and clients of this package, which make the same requests. All values are compared with what was written.
package bench
