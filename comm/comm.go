package comm

import (
	"context"

	"blobio/internal/comm/calls"
)

// Comm is one rank's view of a group of ranks.
//
// All methods except Rank, Size, Send and Recv are collective. Every rank of the group must call the same methods in the same
// order, with the same root, op and number of elements. Only one goroutine at a time may use the Comms of a rank.
//
// The caller may reuse byte slices after a call. Returned slices are read-only and may be shared between ranks.
//
// Any error of a method means that the communication of the whole run is broken. The pending calls of all other ranks fail with
// the same cause. Later calls fail with an error that wraps ErrBroken and the cause. No rank is left waiting.
type Comm interface {
	Rank() int // 0 ... Size-1
	Size() int

	// Barrier returns when all ranks have called it.
	Barrier(ctx context.Context) error
	// Bcast returns the bytes of rank root on every rank. The other ranks pass nil.
	Bcast(ctx context.Context, root int, buf []byte) ([]byte, error)
	// Gather returns the bytes of all ranks, indexed by rank, on root, and nil on other ranks. The lengths may differ.
	Gather(ctx context.Context, root int, b []byte) ([][]byte, error)
	// Allgather returns the bytes of all ranks, indexed by rank. The lengths may differ.
	Allgather(ctx context.Context, b []byte) ([][]byte, error)
	// Alltoallv sends b[i] to rank i and returns the bytes received from all ranks, indexed by rank. len(b) must be Size, or 0 on
	// a rank that sends nothing.
	Alltoallv(ctx context.Context, b [][]byte) ([][]byte, error)
	// AllreduceInt64 combines v of all ranks by op, element by element. The caller owns the result.
	AllreduceInt64(ctx context.Context, v []int64, op Op) ([]int64, error)
	// ExscanInt64 combines v of the lower ranks by op, element by element. Rank 0 gets the identity of op. The caller owns the
	// result.
	ExscanInt64(ctx context.Context, v []int64, op Op) ([]int64, error)

	// Send sends a copy of b to a rank with tag >= 0. It does not wait for the receiver, so two ranks may both send before they
	// receive. Messages with the same sender, receiver and tag arrive in order.
	Send(ctx context.Context, to, tag int, b []byte) error
	// Recv returns the next message from this sender with this tag. The caller owns the message.
	Recv(ctx context.Context, from, tag int) ([]byte, error)

	// Split makes a Comm for each color. Its members are the ranks that passed this color, ordered by (key, rank). A rank with
	// color < 0 gets a nil Comm.
	Split(ctx context.Context, color, key int) (Comm, error)
	// SplitNode makes a Comm for each set of ranks that share memory, in rank order.
	SplitNode(ctx context.Context) (Comm, error)
	// NewWindow gives all ranks access to local, whose length may differ between ranks. The caller still owns local; see Window for
	// its use.
	NewWindow(ctx context.Context, local []byte) (Window, error)
	// Share returns a slice of length Size, indexed by rank. It has the values of all ranks that share the caller's Go heap, and
	// nil for other ranks.
	Share(ctx context.Context, v any) ([]any, error)
}

// Window is memory of all ranks of a Comm. Any rank can access it without the owner's participation. An offset counts bytes in
// the part of the accessed rank.
//
// Fence separates epochs: accesses before a Fence are visible after it to all ranks, including the owner. If several ranks change
// an element in the same epoch, the element gets one of the values, never a mixture. The owner may access its local bytes
// directly in an epoch in which no other rank accesses them. Each access is complete on return, and its buffer may be reused.
//
// An access beyond the part of a rank returns an error that wraps ErrRange. It changes nothing and does not break the
// communication.
type Window interface {
	// Len returns the length in bytes of a rank's part.
	Len(rank int) int64
	// Put copies b to byte off of a rank's part.
	Put(ctx context.Context, rank int, off int64, b []byte) error
	// Get fills b from byte off of a rank's part.
	Get(ctx context.Context, rank int, off int64, b []byte) error
	// Fence is collective. It ends an epoch and begins the next one.
	Fence(ctx context.Context) error
	// Free is collective and ends the use of the window. Then only the caller uses local.
	Free(ctx context.Context) error
}

// In returns a context that names the operation to which the caller's collectives belong. If ranks call a collective in
// operations with different names, the call fails with ErrMismatch, and the error has the names. If calls of In are nested, the
// outermost name counts. A collective without a name matches any name.
func In(ctx context.Context, call string) context.Context { return calls.In(ctx, call) }
