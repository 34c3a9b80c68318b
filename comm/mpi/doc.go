// Package mpi implements comm over MPI. Each rank is a process that mpirun or srun started.
//
// The package is empty unless it is built with cgo and the tag mpi. It then uses the MPI that pkg-config finds as ompi-c,
// or as mpich with the tags mpi and mpich:
//
//	apt-get install libopenmpi-dev openmpi-bin pkg-config gcc
//	CGO_ENABLED=1 go build -tags mpi ./...
//	apt-get install libmpich-dev mpich pkg-config gcc
//	CGO_ENABLED=1 go build -tags mpi,mpich ./...
//
// MPI 3.0 suffices. A program needs only Run:
//
//	err := mpi.Run(ctx, nil, func(ctx context.Context, c comm.Comm) error { ... })
//
// The thread that calls MPI depends on how MPI was started:
//
//	started by                      level             MPI is called on
//	Init, Run                       SERIALIZED        the thread of the caller, one call at a time
//	Init, Run with Multiple         MULTIPLE          the same
//	Init, Run                       FUNNELED          one locked thread of this package, where MPI grants no more
//	the caller, then Adopt          MULTIPLE          any thread of a caller, one call at a time
//	the caller, then Adopt          SERIALIZED        the same; no call may overlap with the caller's own
//	the caller, then Adopt          SINGLE, FUNNELED  the thread of the caller, which must be the
//	                                                  main thread of MPI (else ErrUsage)
//
// docs/mpi.md has launchers, limits and failures.
//
// Read first: engine.go, rank.go, rendezvous.go.
package mpi

// Threads. If MPI does not grant Multiple, Init works as without it. Go code that calls an adopted Comm at level SINGLE or
// FUNNELED must hold the thread with runtime.LockOSThread; a function called by C or Fortran already holds it. Only one
// goroutine at a time may use the Comms of a rank. A waiting call keeps the thread.
//
// Some builds of UCX, which MPI may use, take signals that the Go runtime needs. With such builds, set UCX_ERROR_SIGNALS
// to the empty string.
//
// Buffers. MPI sees only C memory, and no address of Go memory outlives a call into C. Data are copied once before they are
// sent and once after they are received. No call has a count over Options.Piece bytes (default 1 GiB); longer data go in
// pieces, so any length fits the int counts of MPI 3. A window is C memory, too. Fence copies the changes of other ranks to
// the owner's slice, and the owner's changes to the window; it finds the changes by a second copy. On a node, Fence does
// not copy unchanged parts.
//
// Failures. No call waits inside MPI for an action that another rank may never do. Collectives are non-blocking collectives
// of MPI, and messages use Isend and Improbe. A waiting call tests its request, the notice and its context in turn. The
// call first yields, then sleeps on a futex. Any event on the node, or the end of its context, ends the sleep. If the call
// waits for MPI, it sleeps at most half a millisecond, because MPI progresses only in calls.
//
// The notice is a receive from any rank. It is posted at the start on a duplicate of the communicator that carries no other
// messages. A rank fails by Engine.Fail, an error from the function of Run, a cancelled context, a bad argument, or an MPI
// error. The rank then sends its error as a notice to all other ranks, and their pending or next call returns the error.
//
// MPI cannot cancel a collective: the request of a broken call is kept with its buffers. Finalize of an adopted Engine ends
// these requests if it can. If all ranks call Finalize within 3 seconds, it frees the communicators and windows without
// pending operations on any rank. A communicator with an unreceived message, or with an unfinished collective, stays until
// MPI ends.
//
// Every collective begins with a rendezvous, which compares the mark (kind, root, op, number of elements) of all ranks, so
// that all ranks get ErrMismatch before MPI gets arguments that do not match. Between nodes the rendezvous is a header, a
// small MPI reduction. The header alone is a whole Barrier, or an Allreduce of up to 8 elements by Max or Min. Split,
// SplitNode, NewWindow and Free must call blocking MPI functions. To prevent that one rank blocks alone, a rank that has
// begun the rendezvous of such a call continues for a second despite a notice.
//
// Nodes. Ranks of one node share memory, the arena. It is a memfd opened through /proc, so killed processes leave no file,
// and only processes that may trace the owner can open it. The arena has a futex word for each process, on which the
// process sleeps. A rank that changes data in the arena wakes the sleeping processes.
//
// Boards. The rendezvous of ranks of one node is a board in the arena. Each rank writes up to a few kilobytes into
// its slot, in one cache line if the data are short. A number marks a complete slot. If the data of
// all ranks fit, the collective needs no MPI. Boards save time if ranks share cores, because an MPI collective spends many
// time slices on polling. Longer data go through MPI. If a rank cannot open the memory (not Linux, another user or
// container), all ranks use headers.
//
// SharedMemory also uses a memfd, or else a window of MPI_Win_allocate_shared. Each communicator keeps this memory until
// Finalize. If a call needs more memory, the communicator opens another, at least twice as large.
//
// A window of ranks of one node uses MPI_Win_allocate_shared, any other MPI_Win_allocate. For the latter, Open MPI 4.1 may
// choose osc/rdma, which has crashed in MPI_Compare_and_swap between processes of a node; --mca osc ^rdma avoids it. Ranks
// of one node put, get and combine in place, without MPI. MPI combines only elements that are not aligned to 8 bytes.
// Between nodes, a put to a part of a word may be lost if another rank changes the rest of the word by another operation.
//
// Limits. Two ranks that fail at once may each report their own failure. If a rank's call is cancelled while the other
// ranks complete it, they get the error in their next call. A rank waits for a missing message until its context ends:
// there is no ErrDeadlock. Only MPI detects a killed process; MPI then ends the job. One-sided accesses wait in
// MPI_Win_flush, which across nodes may need the target to be inside an MPI call. Open MPI 4.1 with only TCP between nodes
// has no windows across nodes: NewWindow returns an error on all ranks. A long unreceived message keeps its sender in
// Finalize until a context ends.
//
// MPI has only some thousands of communicators, and Comms are never freed before Finalize. So each Comm remembers up to 64
// divisions: a Split with the same colors and keys on all ranks, or another SplitNode, reuses the earlier communicator.
// Each message contains the number of its Comm.
