package comm

import (
	"context"

	"blobio/internal/comm/calls"
)

// Comm is one rank's view of a group of ranks.
//
// All methods but Rank, Size, Send and Recv are collective: every rank of the
// group calls the same ones in the same order, with the same root, op and number
// of elements. The Comms of one rank are used by one goroutine at a time.
//
// Byte slices passed in may be reused when the call returns. Slices returned are
// read-only and may be shared between ranks.
//
// Any error of a method means that the communication of the whole run is broken:
// the pending calls of all other ranks fail with the same cause, and later calls
// with an error that wraps ErrBroken and the cause. Nobody is left waiting.
type Comm interface {
	Rank() int // 0 ... Size-1
	Size() int

	// Barrier returns when all ranks have called it.
	Barrier(ctx context.Context) error
	// Bcast returns the bytes of rank root on every rank; the other ranks pass nil.
	Bcast(ctx context.Context, root int, buf []byte) ([]byte, error)
	// Gather returns on root the bytes of each rank, by rank, of any lengths; nil elsewhere.
	Gather(ctx context.Context, root int, b []byte) ([][]byte, error)
	// Allgather returns the bytes of each rank, by rank, of any lengths.
	Allgather(ctx context.Context, b []byte) ([][]byte, error)
	// Alltoallv sends b[i] to rank i and returns the bytes that each rank sent to this one, by
	// rank. len(b) is Size, or 0 from a rank that sends nothing.
	Alltoallv(ctx context.Context, b [][]byte) ([][]byte, error)
	// AllreduceInt64 returns the element-wise op over all ranks' v. The result is the caller's.
	AllreduceInt64(ctx context.Context, v []int64, op Op) ([]int64, error)
	// ExscanInt64 returns the element-wise op over v of the ranks below this one; rank
	// 0 gets the identity of op. The result is the caller's.
	ExscanInt64(ctx context.Context, v []int64, op Op) ([]int64, error)

	// Send sends b to a rank, tag >= 0. It copies b and does not wait for the receiver:
	// two ranks may first send to each other and then receive. Messages of the same sender, receiver and tag arrive in order.
	Send(ctx context.Context, to, tag int, b []byte) error
	// Recv returns the next message of this sender and tag; the caller owns it.
	Recv(ctx context.Context, from, tag int) ([]byte, error)

	// Split makes a Comm for each color of the ranks that gave it, ordered by (key,
	// rank). A rank with color < 0 gets a nil Comm.
	Split(ctx context.Context, color, key int) (Comm, error)
	// SplitNode makes a Comm for each set of ranks that share memory, ordered by rank.
	SplitNode(ctx context.Context) (Comm, error)
	// NewWindow opens local, of any length on each rank, to access by all ranks. It
	// stays the caller's; see Window for when it may be touched.
	NewWindow(ctx context.Context, local []byte) (Window, error)
	// Share returns the values of all ranks that share this Go heap, by rank, nil for
	// the others; len is Size. Comms without a common heap return only the own value.
	Share(ctx context.Context, v any) ([]any, error)
}

// Window is memory of all ranks of a Comm, accessed by any of them without the
// owner taking part. Offsets are bytes in the part of the rank accessed.
//
// Fence separates epochs: accesses before it are visible to all, the owner
// included, after it. Within an epoch an element that is changed by more than one
// rank holds one of the values, whole (elements do not tear); the owner may touch its local bytes in an epoch in which no
// other rank does. Each access is complete when it returns: its buffer may be
// reused.
//
// An access beyond the part of a rank gives an error that wraps ErrRange,
// changes nothing and breaks nothing.
type Window interface {
	// Len is the length in bytes of the part of a rank.
	Len(rank int) int64
	// Put copies b to the part of a rank, from byte off on.
	Put(ctx context.Context, rank int, off int64, b []byte) error
	// Get fills b from the part of a rank, from byte off on.
	Get(ctx context.Context, rank int, off int64, b []byte) error
	// Fence is collective: it ends an epoch and begins the next.
	Fence(ctx context.Context) error
	// Free is collective and ends the use of the window; local is the caller's alone again.
	Free(ctx context.Context) error
}

// In names the caller's call that collectives belong to. Ranks in calls of different names are ErrMismatch, which names them, even if the collective is
// the same. The outermost name stays; a collective without a name matches any.
func In(ctx context.Context, call string) context.Context { return calls.In(ctx, call) }
