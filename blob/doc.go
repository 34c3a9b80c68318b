// Package blob writes and reads datasets in blob layouts: what many ranks hold
// of decomposed arrays goes to files as a few large extents, and comes back in
// canonical order.
//
//	Schema         what a dataset holds, in canonical terms
//	Create, Put, Writer.Flush, FlushAsync, Wait, Close, Append
//	Open, Reader.Read, ReadRuns, Blobs, Extents, Map, Coverage
//	Convert        to ordinary netCDF, or between blob layouts
//	Check, Diff    findings, as many as there are
//
// # Words
//
// A map (D1, D2, ...) says which rank owns which elements of an array: for
// each rank a list of requests, (offset, length) in elements of the flattened
// canonical array. Map order is the order of a rank's elements: request by request. A
// blob is one rank's elements of one variable, of one record, in map order. A dataset
// is one or more subfiles, name.0000 and so on; each rank writes to one. The sub rank is a
// rank's number within its subfile, and the number of its blob.
//
// # The header, of both layouts
//
// A CDF-5 header. From a canonical schema it is made by:
//
//	global attributes  in front: global_nprocs, num_decompositions, num_subfiles (int)
//	dimensions         behind the canonical ones: nblobs, D1.nelems, D2.nelems, ...,
//	                   D1.max_nreqs, D2.max_nreqs, ...
//	variables          in front, map by map: the five below
//	decomposed ones    T(time, lev, ncol) becomes T(time, Dk.nelems), with the attributes
//	                   decomposition_ID (k) and global_dimids (canonical ids, time
//	                   included) in front of its own
//
//	dimension     length
//	nblobs        ranks of this subfile
//	Dk.nelems     elements of map k of these ranks; 1 if there are none
//	Dk.max_nreqs  most requests of one of them; 1 if there are none
//
//	variable        type   shape                 row j
//	Dk.nreqs        int    nblobs                requests of sub rank j
//	Dk.blob_start   int64  nblobs                its first element along Dk.nelems
//	Dk.blob_count   int64  nblobs                its elements
//	Dk.offsets      int    nblobs, Dk.max_nreqs  canonical offsets; the first nreqs[j] count
//	Dk.lengths      int    nblobs, Dk.max_nreqs  lengths
//
// Length 1 for what is empty, since 0 is the unlimited dimension in CDF; nreqs
// and blob_count say that the one element is nobody's. With Options.WideMaps
// Dk.offsets is int64 for maps of more than 2^31-1 elements. Dk.nreqs has the attribute
// global_dimids too, the ids of the map's dimensions without the unlimited one.
//
// # Variable-centric
//
// A CDF-5 file, big endian, without gaps: header, maps, fixed variables,
// records. Rank j's element e of a variable lies at
//
//	begin + record*recsize + size*(blob_start[j]+e)
//
// Entries of a row behind the last request are zeros (other programs leave
// them undefined). Variables that are not decomposed are in every subfile.
//
// # Process-centric
//
// An HDF5 file with two contiguous datasets of bytes. header_blob is the
// header, little endian, each begin 0. data_blob is one blob per rank, in rank
// order, without gaps:
//
//	for each map       int32 nreqs | int64 blob_start | int64 blob_count |
//	                   int32 offsets[nreqs] | int32 lengths[nreqs]
//	for each variable, in the order of the header
//	  decomposed       numrecs (fixed: 1) x blob_count x size
//	  others           numrecs (fixed: 1) x elements x size, in blob 0 only
//
// little endian as written; the first tag of the header tells the order that is
// read. A blob's place follows from the lengths of those before it. Records
// that are appended are a further set of subfiles, base+1.0000, with record variables
// only; the manifest joins the sets.
//
// docs/format-variable-centric.md and docs/format-process-centric.md have the
// same with examples in bytes, and what other programs do otherwise. Names,
// manifest and commit are those of package subfile.
//
// # Compressed files
//
// With Options.Compress, process-centric subfiles are other ones, which only this package reads:
//
//	header_zblob  the header, with the global attribute blobio_compression: version, bytes of a chunk
//	data_zblob    chunks of the pieces of each blob (a list of a map, a variable's record): as they are,
//	              zstd, or byte planes and zstd
//	index_zblob   nreqs, blob_start, blob_count of each blob and map; of each chunk offset, bytes,
//	              form, and the checksums of both its forms
//
// They are read through unpacker, which gives the plain file that they stand for; so Open, Check, Diff
// and Convert take both. docs/format-process-centric.md has the bytes.
//
// # Ranks without a common heap
//
// Ranks that are processes (comm/mpi; comm.Isolate in tests) form a team: the ranks of a node that
// write one subfile, or with Options.Stripe all ranks of the subfile. Each tells the others once how
// many elements it has, so that every rank knows where everybody's pieces lie. A flush begins with one
// agreement that also tells whether all ranks put the same variables and records. If they differ only in
// variables without a decomposition, sub rank 0 tells its own; otherwise the lists are exchanged. All make the
// same plan from that:
//
//	windows   ranges of the file in which one aggregator has all that the team writes; they
//	          are dealt in turn, by unit of the file system with Options.Stripe
//	rounds    one window of each aggregator: all ranks fill in their bytes in file order, meet,
//	          and the aggregators write, while all fill the windows of the next round
//	own       where the ranks' pieces of a variable (process-centric: all that they put) have
//	          a mean size of 4 KiB, each rank writes its own; with stripes only units that are
//	          whole in what is the rank's alone
//
// Windows are in memory that the ranks have in common (comm.SharedMemory), so that data are moved
// once by the rank that has them and once by the kernel. Where there is none, between nodes, they are
// filled by messages (Alltoallv), and ranks write their own from 64 KiB on. The files are the same, byte for
// byte, as those of ranks that share a heap.
//
// Memory: two windows for each aggregator in common memory, of Options.Buffer bytes each but at most 1 MiB, or
// Options.Stripe.Size if that is more; with comm/mpi they are kept for the next dataset. With messages one window
// in each aggregator, and in each rank its part of the windows of a round twice. A rank that writes its own has its
// workers' buffers too, of at most 256 KiB where it is one of several. A table of all ranks of the subfile, 32 bytes for each rank and map, is in each of them.
//
// A rank that meets an error, in its data or as an aggregator, takes part in all rounds; the error
// is agreed at the end of the flush.
//
// # Errors
//
// What is wrong with a file is a *FormatError with its offset; the class is for
// errors.Is. The collectives (Create, Append, Flush, FlushAsync, Wait, Close) agree: all ranks
// return nil or all an error. Put is not collective. A writer that failed
// returns ErrBroken, and what it made is removed.
package blob
