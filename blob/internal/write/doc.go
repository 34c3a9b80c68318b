// Package write holds the writer. It turns puts into pieces, plans which rank writes which piece, and writes the files. Sessions
// commit the files under a lease.
package write

// How ranks without a common heap write.
//
// Ranks that are processes (comm/mpi; commtest.Isolate in tests) form a team: the
// ranks of a node that write one subfile, or with Options.Stripe all ranks of the
// subfile. Each rank sends its number of elements to the others once, so every
// rank can compute where all pieces lie. A flush begins with one agreement that
// also shows whether all ranks have put the same variables and records. If only
// variables without a decomposition differ, sub rank 0 sends its list of these;
// otherwise the ranks exchange their lists. Then all ranks make the same plan:
//
//	windows   ranges of the file in which one aggregator writes all the team's data; they are
//	          assigned to the aggregators in turn, with Options.Stripe by unit of the file system
//	rounds    a round has one window of each aggregator: all ranks fill in their bytes in file
//	          order and synchronize; then the aggregators write, while all ranks fill the windows
//	          of the next round
//	own       if the ranks' pieces of a variable (process-centric: all puts of a rank) have a mean
//	          size of at least 128 KiB (team.go), each rank writes its own pieces; with stripes
//	          only units that contain no data of other ranks
//
// Windows are in memory that the ranks share (comm.SharedMemory). Each byte is
// copied once by its rank and once by the kernel. Ranks without shared memory, on
// different nodes, fill the windows by messages (Alltoallv), and write their own
// pieces from 64 KiB on. Ranks that share a heap write the same
// files, byte for byte.
//
// Memory: each aggregator has two windows in shared memory. A window has
// Options.Buffer bytes but at most 1 MiB, or Options.Stripe.Size if that is more.
// Package comm/mpi keeps the shared memory for the next dataset. With messages,
// each aggregator has one window, and each rank has its part of the windows of a
// round twice. A rank that writes its own pieces also has buffers for its workers,
// of at most 256 KiB in a team of several ranks. Each rank has a table of all ranks
// of the subfile, with 32 bytes for each rank and map.
//
// A rank with an error, in its data or as an aggregator, takes part in all rounds.
// The ranks agree on the error at the end of the flush.
//
// The types. A Writer is one rank: Job (what the rank writes, and with which ranks), Puts (values in memory), Claim (the name), Files (the
// subfiles of the set), Commits (committed states), Held (held-back records), and State (errors). An Engine is one subfile in one process:
// Layout (file offsets), File, Tally (what was put), Kept (puts for a later commit), Sums (checksums), Pack (compression), Seal (header and
// size), and the background flush.
//
// Read first: writer.go, flush.go, engine.go.
