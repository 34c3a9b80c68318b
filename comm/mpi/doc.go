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
// Whoever started MPI decides on which threads it is called:
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
package mpi

// Threads. If Multiple is not granted, Init does as without it. Go code that calls an adopted
// Comm at the last level must hold the thread by runtime.LockOSThread; a
// function that C or Fortran called is there already. As for all Comms, the
// Comms of one rank are used by one goroutine at a time: a call that waits keeps
// the thread.
//
// Some builds of UCX, which MPI may use, take signals that the Go runtime needs; there, run
// with UCX_ERROR_SIGNALS set to the empty string.
//
// Buffers. MPI sees C memory only, and no address of Go memory outlives a call into C. What is
// sent by MPI is copied once, what is received is copied once. No call has a count over
// Options.Piece bytes (default 1 GiB), so that any length passes through the int
// counts of MPI 3: longer ones go in pieces. A window is C memory too: Fence moves
// what others changed to the owner's slice, and what the owner changed in his slice to
// the window (it keeps a copy to tell which is which). On a node it copies nothing that nobody has changed.
//
// Failures. No call waits inside of MPI for what another rank may never do. Collectives are the
// non-blocking ones of MPI, messages are Isend and Improbe, and a call that waits
// tests its request, the notice and its context in turn: first it yields, then it sleeps on a futex. Whatever happens on the node, and the end of its context, ends that sleep; where MPI
// may have something, which comes only to who calls it, it sleeps half a millisecond at most.
//
// The notice is a receive from anybody, posted at the start on a duplicate of the
// communicator that carries nothing else. A rank that fails (Engine.Fail, an error from the function
// of Run, a cancelled context, a bad argument, an error of MPI) sends its error there to all
// other ranks, and whoever waits or calls next finds it. MPI cannot cancel a collective: what
// a broken call leaves behind is kept with its buffers. Finalize of an adopted Engine ends what can be ended and
// frees the communicators and windows that all ranks find quiet, if all come to it within 3 seconds; a
// communicator with a message that nobody received, or with a collective in the middle of which somebody failed, stays
// until MPI ends.
//
// Every collective begins with a small reduction of what it is (kind, root, op, number of
// elements). It is how ErrMismatch is found, on all ranks, before MPI gets arguments that
// do not fit; and all that Barrier needs, and an Allreduce of up to 8 elements by Max or Min. Split, SplitNode, NewWindow and Free
// must call MPI functions that block. Whoever has begun that reduction stays with it
// for a second in spite of a notice, so that no rank blocks alone.
//
// Nodes. Ranks of one node have an arena in common: memory (a memfd, opened through /proc, so that nothing is left of killed
// processes, and nobody opens it who may not trace them). It has a bell for each process, the word that it sleeps on, whatever
// it waits for; who changes something in the arena rings those who sleep.
//
// Boards. A collective of such ranks begins with a round at a board in the arena, in which each leaves a few words and up to
// some kilobytes: one cache line, if it is short, which tells by a number in it that it is complete. It takes the place of the small
// reduction, and if all that is given fits, of the whole collective but Alltoallv. Boards matter where ranks
// share cores: a collective of MPI needs many turns of processes that only look whether
// something has come. What is longer goes through MPI. Where a rank cannot open the memory (no Linux, another user or container) all do
// without boards.
//
// SharedMemory is such a memory too, or else a window of MPI_Win_allocate_shared; each communicator keeps all that were
// opened until Finalize, but opens another only for more than it has, and then twice as large.
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
// Communicators of MPI are few (some thousands) and nobody frees a Comm, so that each of them remembers up to 64
// ways in which it was split: a Split with the same colors and keys on all ranks, or another
// SplitNode, makes a Comm over the communicator of the first one. Messages tell which
// of these Comms they are for. All of them are freed by Finalize.
