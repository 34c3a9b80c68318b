// Package comm connects ranks: the interface Comm, and ranks that are goroutines
// of one process. Package comm/mpi has ranks that are processes of an MPI job;
// internal/comm/commtest is the contract that each implementation passes.
//
//	Run       starts n ranks and waits for them
//	Self      a Comm of one rank, without Run
//	Agree     one rank's error becomes every rank's, and breaks nothing
//
// A collective has the same outcome on every rank. Whatever else happens to one
// rank breaks the communication of the whole run; every call then returns an
// error that wraps ErrBroken and the cause, and nobody is left waiting:
//
//	what happened                              cause that every rank sees
//	a rank returned an error from Run's f      *RankError
//	a rank panicked, or ended its goroutine    *RankError with *PanicError (and the stack)
//	the context of Run was cancelled           ctx.Err()
//	the context of one call was cancelled      *RankError with ctx.Err(); on the rank itself ctx.Err()
//	a bad argument (root, tag, op, length)     *RankError with ErrUsage
//	ranks of a Comm in different collectives   ErrMismatch, naming both, the ranks, and the calls that they are part of (In)
//	a rank returned nil, others need it        ErrExited
//	everybody waits for somebody else          ErrDeadlock, with the waiting ranks
//
// Read first: comm.go, group.go, run.go.
package comm

// In one process a collective is one rendezvous, not n² messages.
// Each rank leaves its part in a shared round under the lock of the group and
// waits; the last to come computes the result, which all share. n ranks cost n
// short critical sections and n wake-ups, and a rank that waits costs its stack.
// Allgather of 21,600 ranks holds each part once.
