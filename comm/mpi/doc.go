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
// How MPI was started determines which thread calls MPI:
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

// Threads. If MPI does not grant Multiple, Init behaves as if Multiple were not set. At the level in the last line of the
// table, Go code that calls an adopted Comm must call runtime.LockOSThread; a Go function called by C or Fortran is on
// that thread already. Only one goroutine at a time may use the Comms of a rank. A waiting call keeps the thread.
//
// Some builds of UCX, which MPI may use, take signals that the Go runtime needs. With such builds, set UCX_ERROR_SIGNALS
// to the empty string.
//
// Buffers. MPI sees only C memory, and no address of Go memory outlives a call into C. Data are copied once before they
// are sent and once after they are received. No call has a count over Options.Piece bytes (default 1 GiB); longer data go
// in pieces, so any length fits the int counts of MPI 3. A window is C memory, too. Fence copies other ranks' changes to
// the owner's slice, and the owner's changes to the window. To find the changes, the package keeps a copy of the slice at
// the last Fence. On a node, Fence does not copy unchanged parts.
//
// Failures. No call waits inside MPI for a rank that may never come. The package uses MPI's non-blocking collectives, and
// Isend and Improbe for messages. A waiting call tests its request, the notice and its context in turn. It first yields,
// then sleeps on a futex. Any event on the node, or the end of its context, ends the sleep. If the call waits for MPI,
// which progresses only in calls, it sleeps at most half a millisecond.
//
// A notice is a message with the error of a failed rank. Each rank posts a receive for it at the start, on a duplicate of
// the communicator that carries no other messages. Engine.Fail, an error from the function of Run, a cancelled context, a
// bad argument and an MPI error are failures. A rank that fails sends a notice to all other ranks, and their pending or
// next call returns the error.
//
// MPI cannot cancel a collective, so the request of a broken call is kept with its buffers. Finalize of an adopted Engine
// ends these requests if it can. It frees the communicators and windows that are quiet on all ranks, if all ranks call it
// within 3 seconds. A communicator with an unreceived message, or with a collective that a failing rank left half-way,
// stays until MPI ends.
//
// Every collective begins with a rendezvous, which compares the mark (kind, root, op, number of elements) of all ranks. So
// all ranks get ErrMismatch before MPI gets arguments that do not match. Between nodes the rendezvous is a header, a small
// MPI reduction. A Barrier needs no more than the header, and neither does an Allreduce of up to 8 elements by Max or Min.
// Split, SplitNode, NewWindow and Free must call blocking MPI functions. A rank that has begun the rendezvous of such a
// call ignores a notice for a second, so that no other rank blocks in MPI without it.
//
// Nodes. Ranks of one node share an arena. The arena is a memfd that the ranks open through /proc. Killed processes leave
// no file, and only a process that may trace the ranks can open the arena. It has a bell for each process: the word on
// which the process sleeps. A rank that changes a word in the arena rings the sleeping processes.
//
// Boards. The rendezvous of ranks of one node is a board in the arena. Each rank writes a few words and up to some
// kilobytes to its slot of the board; short data need one cache line. A number marks a complete slot. If the data of all
// ranks fit, the collective needs no MPI call, except for Alltoallv. Boards matter if ranks share cores, because an MPI
// collective wastes many time slices on polling. Longer data go through MPI. If a rank cannot open the memory (not Linux,
// another user or container), all ranks use headers.
//
// SharedMemory uses a memfd, too, or a window of MPI_Win_allocate_shared if the ranks cannot open the memfd. Each
// communicator keeps all its shared memories until Finalize. It makes a new memory only when a call needs more bytes, and
// then at least doubles the size.
//
// A window of ranks of one node uses MPI_Win_allocate_shared, any other MPI_Win_allocate. For MPI_Win_allocate, Open MPI
// 4.1 may choose the component osc/rdma, which has crashed in MPI_Compare_and_swap between processes of a node. The option
// --mca osc ^rdma of mpirun avoids the crash. Ranks of one node put, get and combine in place, without MPI. Only elements
// that are not aligned to 8 bytes are combined by MPI. Between nodes, a put to a part of a word may be lost if another
// rank changes the rest of the word at the same time.
//
// Limits. Two ranks that fail at once may each report their own failure. If a call is cancelled on one rank after other
// ranks completed it, they get the error in their next call. This package does not detect deadlocks, so a rank that waits
// for a message that nobody sends waits until its context ends. Only MPI detects a killed process, and then ends the job.
// One-sided accesses wait in MPI_Win_flush, which across nodes may need the target to be inside an MPI call. Open MPI 4.1
// with only TCP between nodes has no windows across nodes: NewWindow returns an error on all ranks. If a long message is
// never received, its sender waits in Finalize until a context ends.
//
// MPI has only some thousands of communicators, and Comms are never freed. Each Comm therefore remembers the communicators
// of up to 64 divisions. A Split with the same colors and keys as before on all ranks, or a second SplitNode, reuses the
// communicator. Messages of Comms with the same communicator are distinguished by a number in the message. Finalize frees
// all communicators.
