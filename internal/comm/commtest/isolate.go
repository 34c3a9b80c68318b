package commtest

import (
	"bytes"
	"context"

	"blobio/comm"
)

// Isolate returns a comm.Comm of the same ranks that behaves as if each rank were a process: Share returns only the caller's
// value, and ranks share no byte slices. All ranks of a Comm must use it alike. Tests use it to simulate ranks connected by
// messages.
func Isolate(c comm.Comm) comm.Comm {
	if c == nil {
		return nil
	}
	if _, ok := c.(isolated); ok {
		return c
	}
	return isolated{c}
}

// isolated forwards the calls that need no change: numbers are never shared, and all Comms copy messages.
type isolated struct{ comm.Comm }

func cloneAll(b [][]byte) [][]byte {
	if b == nil {
		return nil
	}
	c := make([][]byte, len(b))
	for i := range b {
		c[i] = bytes.Clone(b[i])
	}
	return c
}

func (i isolated) Bcast(ctx context.Context, root int, buf []byte) ([]byte, error) {
	b, err := i.Comm.Bcast(ctx, root, buf)
	return bytes.Clone(b), err
}

func (i isolated) Gather(ctx context.Context, root int, b []byte) ([][]byte, error) {
	all, err := i.Comm.Gather(ctx, root, b)
	return cloneAll(all), err
}

func (i isolated) Allgather(ctx context.Context, b []byte) ([][]byte, error) {
	all, err := i.Comm.Allgather(ctx, b)
	return cloneAll(all), err
}

func (i isolated) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	c, err := i.Comm.Split(ctx, color, key)
	return Isolate(c), err
}

func (i isolated) SplitNode(ctx context.Context) (comm.Comm, error) {
	c, err := i.Comm.SplitNode(ctx)
	return Isolate(c), err
}

// Share is still collective.
func (i isolated) Share(ctx context.Context, v any) ([]any, error) {
	if _, err := i.Comm.Share(ctx, nil); err != nil {
		return nil, err
	}
	all := make([]any, i.Size())
	all[i.Rank()] = v
	return all, nil
}

// SharedMemory works between processes of one node, although each has its own heap.
func (i isolated) SharedMemory(ctx context.Context, n int) (comm.Memory, error) {
	return comm.SharedMemory(ctx, i.Comm, n)
}

// Apart implements comm.Apart.
func (i isolated) Apart() bool { return true }
