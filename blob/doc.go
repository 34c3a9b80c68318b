// Package blob writes and reads datasets in blob layouts: many ranks write what
// they hold of decomposed arrays as a few large extents, and any number of
// readers gets the arrays back in canonical order.
//
//	Schema                       what a dataset holds, in canonical terms
//	Create, Append               collective: a Writer on each rank
//	Put, Writer.Flush, Close     data of a rank; write; commit
//	Open, Reader.Read, ReadRuns  hyperslabs, or any runs of elements
//	Reader.Canonical             the netCDF file that Convert writes, as an io.ReaderAt
//	Convert, Check, Diff         to netCDF or between layouts; what is wrong; what differs
//	Recover, WriterOf            what a dead writer left; who writes
//
// A map (D1, D2, ...) says which rank owns which elements of an array, as a list
// of requests: offset and length in elements of the flattened canonical array. A
// blob is one rank's elements of one variable, or of one record of it, request by
// request: map order. A dataset is one or more subfiles, name.0000 and so on.
//
// A dataset appears, whole, when Close returns nil; a crash leaves the old state
// or the new one. One writer at a time holds a name (ErrInUse). Create, Append,
// Flush, FlushAsync, Wait and Close are collective: all ranks return nil, or all
// an error; Put is not. After an error a writer is broken (ErrBroken), and what
// it made is removed. What is wrong with a file is a *FormatError.
//
// docs/guide-go.md is the guide. Formats: docs/format-variable-centric.md,
// docs/format-process-centric.md (compressed files too), docs/format-manifest.md.
package blob

// How ranks without a common heap write.
//
// Ranks that are processes (comm/mpi; comm.Isolate in tests) form a team: the
// ranks of a node that write one subfile, or with Options.Stripe all ranks of the
// subfile. Each tells the others once how many elements it has, so that every
// rank knows where everybody's pieces lie. A flush begins with one agreement that
// also tells whether all ranks put the same variables and records. If they differ
// only in variables without a decomposition, sub rank 0 tells its own; otherwise
// the lists are exchanged. All make the same plan from that:
//
//	windows   ranges of the file in which one aggregator has all that the team writes; they
//	          are dealt in turn, by unit of the file system with Options.Stripe
//	rounds    one window of each aggregator: all ranks fill in their bytes in file order, meet,
//	          and the aggregators write, while all fill the windows of the next round
//	own       where the ranks' pieces of a variable (process-centric: all that they put) have
//	          a mean size of 128 KiB (way.go), each rank writes its own; with stripes only
//	          units that are whole in what is the rank's alone
//
// Windows are in memory that the ranks have in common (comm.SharedMemory), so
// that data are moved once by the rank that has them and once by the kernel.
// Where there is none, between nodes, they are filled by messages (Alltoallv),
// and ranks write their own from 64 KiB on. The files are the same, byte for
// byte, as those of ranks that share a heap.
//
// Memory: two windows for each aggregator in common memory, of Options.Buffer
// bytes each but at most 1 MiB, or Options.Stripe.Size if that is more; with
// comm/mpi they are kept for the next dataset. With messages one window in each
// aggregator, and in each rank its part of the windows of a round twice. A rank
// that writes its own has its workers' buffers too, of at most 256 KiB where it
// is one of several. A table of all ranks of the subfile, 32 bytes for each rank
// and map, is in each of them.
//
// A rank that meets an error, in its data or as an aggregator, takes part in all
// rounds; the error is agreed at the end of the flush.
