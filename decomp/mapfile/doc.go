// Package mapfile reads and writes the files in which decomposition maps are
// kept: the text that PIO and Scorpio dump (.dat), and the maps of E3SM-IO in
// CDF (any version), HDF5 and netCDF-4. The content decides what a file is,
// never its name. ADIOS BP files are refused by name.
//
// # Words
//
// A map file describes the processes of the run that it was captured from: map
// processes. Their number M is decomp_nprocs. They are dealt to the P ranks of
// another run by Raw.Map. Offsets are canonical, in elements, from 0, except in
// .dat files and raw_offsets, where they are from 1.
//
// # PIO text (.dat)
//
//	version 2001 npes 16 ndims 2        numbers: M, K
//	866 72                              K sizes, the fastest dimension first
//	0 4608                              process, number of offsets that follow
//	3 67 131 ... 0 0 869 ...            the offsets, on one line
//	                                    blank lines are allowed anywhere
//	Obtained 10 stack frames.           ends the data: a stack trace follows
//
// Offset 0 is a hole, and an offset over the number of elements is one as well;
// both are left out. A process that is missing has no requests. One file holds
// one map. Neighbours are merged to requests in the order in which they are
// given, and never from the end of a row (the fastest dimension) to the next,
// as dat2nc does without -s.
//
// # CDF
//
// One file holds all maps, D1 to Dn. Everything is an int (an int64 is read as
// well); data begin at 8192.
//
//	dimension                  length
//	num_decomp                 n; a file without it has as many maps as Dk.dims follow each other
//	decomp_nprocs              M
//	Dk.total_nreqs             requests of all processes
//	Dk.total_raw_nreqs         offsets before merging; optional
//
//	variable                   meaning
//	Dk.nreqs(decomp_nprocs)    requests of each process
//	Dk.fill_starts(decomp_nprocs)  of these, the ones from here on are fillers; optional
//	Dk.offsets(Dk.total_nreqs) one process after the other
//	Dk.lengths(Dk.total_nreqs)
//	Dk.raw_nreqs(decomp_nprocs)          optional, as is
//	Dk.raw_offsets(Dk.total_raw_nreqs)   from 1
//
//	global attribute           meaning
//	command_line               of the program that made the file; optional
//	Dk.ndims, Dk.dims          the decomposed dimensions, slowest first
//	Dk.max_nreqs, Dk.min_nreqs over the processes; not needed
//	Dk.fully_covered           "true" or "false", fillers not counted; not needed
//
// A filler is a request for elements that no process owns, so that they can be
// written with fill values.
//
// # HDF5 and netCDF-4
//
// The same names. Variables are datasets of the root group, global attributes
// are attributes of the root group. In netCDF-4 a dimension is a dataset (its
// length counts), in HDF5 it is a scalar uint64 attribute -DIM_<name>.
//
// # An older CDF schema
//
// One map of one dimension in a file:
//
//	dimension num_procs = M, array_size = elements, nreq_%05d = requests of a process
//	variable  off_%05d(nreq_%05d), len_%05d(nreq_%05d)
//
// # Limits
//
// At most 2^21 processes, 64 dimensions and 4096 maps. Requests must lie
// within the array. Lists are read process by process and kept compact, so
// reading needs memory for the requests of one process, and for the result.
package mapfile
