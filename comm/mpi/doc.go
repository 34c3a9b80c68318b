// Package mpi is the engine of comm over MPI: each rank is a process that mpirun or srun started.
//
// It is empty unless it is built with cgo and the tag mpi, against the MPI that
// pkg-config finds as ompi-c, or with the tags mpi and mpich as mpich:
//
//	apt-get install libopenmpi-dev openmpi-bin pkg-config gcc
//	CGO_ENABLED=1 go build -tags mpi ./...
//	apt-get install libmpich-dev mpich pkg-config gcc
//	CGO_ENABLED=1 go build -tags mpi,mpich ./...
//
// MPI 3.0 is enough. Run is all that a program needs:
//
//	err := mpi.Run(ctx, nil, func(ctx context.Context, c comm.Comm) error { ... })
//
// The starter of MPI decides on which threads it is called:
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

// Threads. If MPI does not grant Multiple, Init works as without it. Go code that calls an adopted
// Comm at the last level must hold the thread by runtime.LockOSThread; a
// function that C or Fortran called is there already. As for all Comms, the
// Comms of one rank are used by one goroutine at a time: a call that waits keeps
// the thread.
//
// Some builds of UCX, which MPI may use, take signals that the Go runtime needs; there, run
// with UCX_ERROR_SIGNALS set to the empty string.
//
// Buffers. MPI sees C memory only, and no address of Go memory outlives a call into C. Data
// are copied once before they are sent, and once after they are received. No call has a count over
// Options.Piece bytes (default 1 GiB), so that any length passes through the int
// counts of MPI 3: longer data go in pieces. A window is C memory too: Fence copies
// the changes of others to the owner's slice, and the changes of the owner from the slice to
// the window (it keeps a copy to find them). On a node it copies no part that nobody has changed.
//
// Failures. No call waits inside of MPI for an act that another rank may never do. Collectives are the
// non-blocking ones of MPI, messages are Isend and Improbe, and a call that waits
// tests its request, the notice and its context in turn: first it yields, then it sleeps on a futex. Any event on the node,
// and the end of its context, ends that sleep; where it waits for MPI, which goes on only in calls, it sleeps half a millisecond at most.
//
// The notice is a receive from any rank, posted at the start on a duplicate of the
// communicator that carries nothing else. A rank that fails (Engine.Fail, an error from the function
// of Run, a cancelled context, a bad argument, an error of MPI) sends its error there to all
// other ranks, and their pending or next call returns it. MPI cannot cancel a collective: the request of a
// broken call is kept with its buffers. Finalize of an adopted Engine ends these requests where it can and
// frees the communicators and windows that all ranks find quiet, if all call it within 3 seconds; a
// communicator with a message that nobody received, or with a collective that a rank left by failing in the middle of it, stays
// until MPI ends.
//
// Every collective begins with a rendezvous, which compares its mark on all ranks (kind, root, op, number of
// elements). So ErrMismatch is found, on all ranks, before MPI gets arguments that
// do not fit. Between nodes it is a header, a small reduction of MPI, which is the whole of
// a Barrier, and of an Allreduce of up to 8 elements by Max or Min. Split, SplitNode, NewWindow and Free
// must call MPI functions that block. A rank that has begun their rendezvous stays with it
// for a second in spite of a notice, so that no rank blocks alone.
//
// Nodes. Ranks of one node share an arena: memory (a memfd, opened through /proc, so that killed processes leave
// nothing behind, and only a process that may trace them can open it). It has a bell for each process, the word on which it sleeps;
// a rank that changes a word in the arena rings the processes that sleep.
//
// Boards. The rendezvous of ranks of one node is a board in the arena: each rank leaves a few words and up to
// some kilobytes there, in one cache line if they are short; a number in it shows that it is complete. If the data of all ranks
// fit, the board is the whole collective, but for Alltoallv. Boards matter where ranks
// share cores: a collective of MPI needs many turns of processes that only poll.
// Longer data go through MPI. If a rank cannot open the memory (not Linux, another user or container), all ranks use
// headers.
//
// SharedMemory is such memory too, or else a window of MPI_Win_allocate_shared; each communicator keeps all that were
// opened until Finalize, but opens another only when a call needs more, and then at least twice as large.
//
// A window of ranks of one node is of MPI_Win_allocate_shared, any other of
// MPI_Win_allocate. For these Open MPI 4.1 may choose osc/rdma, which was seen to crash in
// MPI_Compare_and_swap between processes of a node; --mca osc ^rdma avoids it. Ranks of one node
// put, get and combine in place, without MPI; only elements that do not lie at a multiple of 8 bytes are
// combined by MPI. Between nodes a part of a word that another rank changes otherwise may be lost.
//
// Limits. Two ranks that fail at once may each report their own failure. A
// call cancelled while others complete it is an error to them only in their next call. A rank
// that waits for a message that nobody sends waits until its context ends: there is no
// ErrDeadlock. A killed process is seen by MPI alone, which ends the job. One-sided accesses
// wait in MPI_Win_flush, which across nodes may need the target to be
// inside of some MPI call. Open MPI 4.1 with nothing but TCP between nodes has no windows that
// reach over them: NewWindow is an error on all ranks. A long message that nobody receives keeps its sender
// in Finalize until a context ends.
//
// Communicators of MPI are few (some thousands) and nobody frees a Comm, so each of them remembers up to 64
// divisions: a Split with the same colors and keys on all ranks, or another
// SplitNode, makes a Comm over the communicator of the first one. A message has the number
// of its Comm. All communicators are freed by Finalize.
