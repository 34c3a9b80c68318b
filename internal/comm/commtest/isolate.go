package commtest

import (
	"bytes"
	"context"

	"blobio/comm"
)

// Isolate returns a comm.Comm of the same ranks that behaves as if each rank were a process: Share returns only the caller's
// value, and ranks share no byte slices. Either all ranks of a Comm use Isolate or none. Tests use it to simulate ranks in
// separate processes.
func Isolate(c comm.Comm) comm.Comm {
	if c == nil {
		return nil
	}
	if _, ok := c.(isolated); ok {
		return c
	}
	return isolated{c}
}

// isolated changes only the calls that could share memory. The other calls are forwarded: numbers are never shared, and
// every Comm copies messages.
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

// SharedMemory is forwarded, because processes of one node can share memory although each has its own heap.
func (i isolated) SharedMemory(ctx context.Context, n int) (comm.Memory, error) {
	return comm.SharedMemory(ctx, i.Comm, n)
}

// Apart implements comm.Apart.
func (i isolated) Apart() bool { return true }
