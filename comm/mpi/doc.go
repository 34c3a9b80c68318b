// Package mpi is the engine of comm over MPI: each rank is a process that mpirun or srun started.
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
// The way in which MPI was started determines the threads that call it:
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

// Threads. If MPI does not grant Multiple, Init works as without it. Go code that calls an adopted Comm at the last level
// must hold the thread with runtime.LockOSThread; a function that C or Fortran called already does. Only one goroutine at
// a time may use the Comms of a rank. A waiting call keeps the thread.
//
// Some builds of UCX, which MPI may use, take signals that the Go runtime needs. Run these with UCX_ERROR_SIGNALS set to
// the empty string.
//
// Buffers. MPI sees only C memory, and no address of Go memory outlives a call into C. Data are copied once before they
// are sent and once after they are received. No call has a count over Options.Piece bytes (default 1 GiB); longer data go
// in pieces, so any length fits the int counts of MPI 3. A window is C memory, too. Fence copies the changes of others to
// the owner's slice, and the owner's changes to the window; a second copy shows these changes. On a node, Fence does not
// copy unchanged parts.
//
// Failures. No call waits inside MPI for an action that another rank may never do. Collectives are MPI's non-blocking
// ones, and messages use Isend and Improbe. A waiting call tests its request, the notice and its context in turn. It first
// yields, then sleeps on a futex. Any event on the node, or the end of its context, ends the sleep. If the call waits for
// MPI, which progresses only in calls, it sleeps at most half a millisecond.
//
// The notice is a receive from any rank. It is posted at the start on a duplicate of the communicator that carries no
// other messages. A rank fails by Engine.Fail, an error from the function of Run, a cancelled context, a bad argument, or
// an MPI error. It then sends its error as a notice to all other ranks, and their pending or next call returns it.
//
// MPI cannot cancel a collective: the request of a broken call is kept with its buffers. Finalize of an adopted Engine
// ends these requests if it can. It frees the communicators and windows that are quiet on all ranks, if all ranks call it
// within 3 seconds. A communicator with an unreceived message, or with a collective that a failing rank left half-way,
// stays until MPI ends.
//
// Every collective begins with a rendezvous, which compares the mark (kind, root, op, number of elements) of all ranks. So
// all ranks get ErrMismatch before MPI gets arguments that do not match. Between nodes the rendezvous is a header, a small
// MPI reduction. The header alone is a whole Barrier, or an Allreduce of up to 8 elements by Max or Min. Split, SplitNode,
// NewWindow and Free must call blocking MPI functions. A rank that has begun their rendezvous continues for a second
// despite a notice, so that no rank blocks alone.
//
// Nodes. Ranks of one node share an arena. This memory is a memfd opened through /proc, so killed processes leave no file,
// and only a process that may trace them can open it. It has a bell for each process: the word on which the process
// sleeps. A rank that changes a word in the arena rings the sleeping processes.
//
// Boards. The rendezvous of ranks of one node is a board in the arena. Each rank writes a few words and up to some
// kilobytes there, in one cache line if they are short. A number marks a complete slot. If the data of all ranks fit, the
// board is the whole collective, except for Alltoallv. Boards matter if ranks share cores: an MPI collective wastes many
// time slices on polling. Longer data go through MPI. If a rank cannot open the memory (not Linux, another user or
// container), all ranks use headers.
//
// SharedMemory uses such memory, too, or else a window of MPI_Win_allocate_shared. Each communicator keeps all these
// memories until Finalize. It opens another only when a call needs more, and then at least doubles the size.
//
// A window of ranks of one node uses MPI_Win_allocate_shared, any other MPI_Win_allocate. For the latter, Open MPI 4.1 may
// choose osc/rdma, which has crashed in MPI_Compare_and_swap between processes of a node; --mca osc ^rdma avoids it. Ranks
// of one node put, get and combine in place, without MPI. Only elements that are not aligned to 8 bytes are combined by
// MPI. Between nodes, a put to a part of a word may be lost if another rank changes the rest of the word otherwise.
//
// Limits. Two ranks that fail at once may each report their own failure. If a call is cancelled while others complete it,
// they get the error in their next call. A rank that waits for a missing message waits until its context ends: there is no
// ErrDeadlock. Only MPI detects a killed process, and then ends the job. One-sided accesses wait in MPI_Win_flush, which
// across nodes may need the target to be inside an MPI call. Open MPI 4.1 with only TCP between nodes has no windows
// across nodes: NewWindow returns an error on all ranks. A long unreceived message keeps its sender in Finalize until a
// context ends.
//
// MPI has only some thousands of communicators, and Comms are never freed. So each Comm remembers up to 64 divisions: a
// Split with the same colors and keys on all ranks, or another SplitNode, reuses the first one's communicator. A message
// has the number of its Comm. Finalize frees all communicators.
