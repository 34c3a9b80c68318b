// Package comm connects ranks. It has the interface Comm, and an implementation whose ranks are goroutines of one process.
// In package comm/mpi, ranks are processes of an MPI job. internal/comm/commtest tests the contract of each implementation.
//
//	Run       starts n ranks and waits for them
//	Self      a Comm of one rank, without Run
//	Agree     returns one rank's error on all ranks, and breaks nothing
//
// A collective has the same outcome on every rank. A failure of a rank breaks the communication of the whole run: every call
// then returns an error that wraps ErrBroken and the cause, and no rank waits forever.
//
//	failure                                    cause that every rank gets
//	a rank returned an error from Run's f      *RankError
//	a rank panicked, or ended its goroutine    *RankError with *PanicError (and the stack)
//	the context of Run was cancelled           ctx.Err()
//	the context of one call was cancelled      *RankError with ctx.Err(); on the rank itself ctx.Err()
//	a bad argument (root, tag, op, length)     *RankError with ErrUsage
//	ranks of a Comm in different collectives   ErrMismatch, with the collectives, the ranks, and their operations (In)
//	a rank returned nil while others wait      ErrExited
//	every rank waits for another rank          ErrDeadlock, with the waiting ranks
//
// Read first: comm.go, group.go, run.go.
package comm

// In one process a collective is one rendezvous, not n² messages. Each rank adds its part to a shared round under the
// group's lock and waits. The last rank computes the result, which all share, so Allgather of 21,600 ranks stores each part
// once.
