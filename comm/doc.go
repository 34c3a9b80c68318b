// Package comm connects ranks: the Comm interface, and ranks that are goroutines
// of one process.
//
// Run starts n ranks and waits for them; Self is a Comm of one rank; Isolate makes
// ranks of one process behave as if they shared no memory. Package commtest is
// the contract that any implementation of Comm must pass.
//
// # Errors
//
// Communication is all or nothing. A collective ends with the same outcome on every
// rank: all have the result, or all have an error. What breaks it:
//
//	what happened                              cause that every rank sees
//	a rank returned an error from Run's f      *RankError
//	a rank panicked, or ended its goroutine    *RankError with *PanicError (and the stack)
//	ctx of Run was cancelled                   ctx.Err()
//	ctx of one call was cancelled              *RankError with ctx.Err(); on the rank itself ctx.Err()
//	a bad argument (root, tag, op, length)     *RankError with ErrUsage
//	ranks of a Comm in different collectives   ErrMismatch, naming both
//	a rank returned nil, others need it        ErrExited
//	everybody waits for somebody else          ErrDeadlock, saying who for what
//
// After that each call of any Comm of the run returns an error that wraps
// ErrBroken and the cause. A failure that the ranks want to survive is not returned
// but agreed upon: Agree gives all of them the error of one, and breaks nothing.
//
// # How in-process ranks meet
//
// A collective is one rendezvous, not n² messages: each rank leaves its part in a
// shared round under the lock of the group and waits; the last to come computes
// the result, which all share. n ranks cost n short critical sections and n
// wake-ups, and a rank that waits costs its stack. Allgather of 21,600
// ranks holds each part once.
package comm
