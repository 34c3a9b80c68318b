// Package comm connects ranks. It has the interface Comm, and an implementation whose ranks are goroutines of one process.
// In package comm/mpi, ranks are processes of an MPI job. internal/comm/commtest tests the contract of each implementation.
//
//	Run       starts n ranks and waits for them
//	Self      a Comm of one rank, without Run
//	Agree     shares an error of one rank with all ranks; the Comm still works
//
// A collective has the same outcome on every rank. Any failure of a rank breaks the communication of the whole run. Every
// call then returns an error that wraps ErrBroken and the cause, and no rank is left waiting:
//
//	failure                                    cause that every rank sees
//	a rank returned an error from Run's f      *RankError
//	a rank panicked, or ended its goroutine    *RankError with *PanicError (and the stack)
//	the context of Run was cancelled           ctx.Err()
//	the context of one call was cancelled      *RankError with ctx.Err(); on the rank itself ctx.Err()
//	a bad argument (root, tag, op, length)     *RankError with ErrUsage
//	ranks of a Comm in different collectives   ErrMismatch, with the collectives, ranks and operations (In)
//	a rank returned nil, but others wait     ErrExited
//	every rank waits for another rank          ErrDeadlock, with the waiting ranks
//
// Read first: comm.go, group.go, run.go.
package comm

// In one process a collective is one rendezvous, not n² messages. Each rank adds its part to a shared round under the
// group's lock, and waits. The last rank computes the result, and all ranks share it. A collective of n ranks costs n short
// critical sections and n wake-ups; a waiting rank costs its stack. An Allgather of 21,600 ranks stores each part only
// once.
