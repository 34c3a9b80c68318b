package comm

import "context"

// Memory is memory that the ranks of a Comm have in common.
type Memory interface {
	// Bytes is the memory, the same for all ranks. Stores of a rank are visible to another
	// after a Fence in which both took part, or another collective in which each rank gets data
	// from all others. Between two of these a rank must not touch bytes that another one may change.
	Bytes() []byte
	// Fence is collective: earlier stores are visible to all ranks
	// after it.
	Fence(ctx context.Context) error
}

// SharedMemory returns n bytes that all ranks of c have in common, n the same on all of them; nil,
// on all ranks, if they have none (ranks of different nodes). The memory lives as long as the Comm.
// An engine may give the same memory to a later call for as much or less: before that call, all
// ranks must have met in a collective after their last use of it. Its content at the start is
// undefined. Collective.
func SharedMemory(ctx context.Context, c Comm, n int) (Memory, error) {
	if s, ok := c.(interface {
		SharedMemory(ctx context.Context, n int) (Memory, error)
	}); ok {
		return s.SharedMemory(ctx, n)
	}
	var mine []byte
	if c.Rank() == 0 {
		mine = make([]byte, n)
	}
	all, err := c.Share(ctx, &mine)
	if err != nil {
		return nil, err
	}
	have := int64(1)
	for _, v := range all {
		if v == nil {
			have = 0
		}
	}
	v, err := c.AllreduceInt64(ctx, []int64{have}, Min)
	if err != nil || v[0] == 0 {
		return nil, err
	}
	return &heap{c, *all[0].(*[]byte)}, nil
}

// heap is Memory of ranks of one process.
type heap struct {
	c Comm
	b []byte
}

func (h *heap) Bytes() []byte                   { return h.b }
func (h *heap) Fence(ctx context.Context) error { return h.c.Barrier(ctx) }

// Apart is true if it is known, without communication, that no two ranks of c share a Go heap.
// It is the same on all ranks, and for all Comms made from c.
func Apart(c Comm) bool {
	a, ok := c.(interface{ Apart() bool })
	return ok && a.Apart()
}
