package comm

import "context"

// Memory is common memory of the ranks of a Comm.
type Memory interface {
	// Bytes returns the memory that all ranks share. Stores of one rank are visible to another rank after a Fence, or after
	// another collective in which each rank gets data from all ranks. Between two such collectives, a rank must not access bytes
	// that another rank may change.
	Bytes() []byte
	// Fence is collective. After a Fence all ranks see the stores made before it.
	Fence(ctx context.Context) error
}

// SharedMemory returns n bytes that all ranks of c share. n must be equal on all ranks. SharedMemory is collective. It returns
// nil on all ranks if the ranks cannot share memory, for example if they are on different nodes. The memory lives as long as the
// Comm. A later call for n bytes or fewer may return the same memory. Before such a call, all ranks must take part in a
// collective after their last access. The initial content is undefined.
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

type heap struct {
	c Comm
	b []byte
}

func (h *heap) Bytes() []byte                   { return h.b }
func (h *heap) Fence(ctx context.Context) error { return h.c.Barrier(ctx) }

// Apart reports whether no two ranks of c share a Go heap. It does not communicate, and returns false if it cannot know. The
// result is the same on all ranks and for all Comms made from c.
func Apart(c Comm) bool {
	a, ok := c.(interface{ Apart() bool })
	return ok && a.Apart()
}
