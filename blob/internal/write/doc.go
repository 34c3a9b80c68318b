// Package write holds the writer: puts become pieces, pieces a plan, plans files; sessions commit them under a lease.
package write

// How ranks without a common heap write.
//
// Ranks that are processes (comm/mpi; commtest.Isolate in tests) form a team: the
// ranks of a node that write one subfile, or with Options.Stripe all ranks of the
// subfile. Each sends the others once how many elements it has, so that every
// rank knows where everybody's pieces lie. A flush begins with one agreement that
// also reports whether all ranks put the same variables and records. If they differ
// only in variables without a decomposition, sub rank 0 sends its own; otherwise
// the lists are exchanged. All make the same plan from that:
//
//	windows   ranges of the file in which one aggregator has all that the team writes; they
//	          are dealt in turn, by unit of the file system with Options.Stripe
//	rounds    one window of each aggregator: all ranks fill in their bytes in file order, meet,
//	          and the aggregators write, while all fill the windows of the next round
//	own       where the ranks' pieces of a variable (process-centric: all that they put) have
//	          a mean size of 128 KiB (team.go), each rank writes its own; with stripes only
//	          units that are whole in what is the rank's alone
//
// Windows are in memory that the ranks have in common (comm.SharedMemory), so
// that data are moved once by the rank that has them and once by the kernel.
// Where there is none, between nodes, they are filled by messages (Alltoallv),
// and ranks write their own from 64 KiB on. The files are the same, byte for
// byte, as if the ranks shared a heap.
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
//
// The parts. A Writer is one rank: Job (with whom it writes what), Puts (what waits in memory), Claim (the name), Files (the subfiles of the
// set), Commits (what is in force), Held, and State. An Engine is one subfile in one process: Layout (where everything lies), File, Tally
// (what was put), Kept (what waits for a later commit), Sums, Pack, Seal, and the background.
//
// Read first: writer.go, flush.go, engine.go.
