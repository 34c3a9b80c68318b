//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"unsafe"

	"blobio/comm"
)

// shared is memory that all ranks of a link see, kept for the next who asks until
// somebody asks for more.
type shared struct {
	asked bool // and if b is nil there is none
	b     []byte
	w     C.MPI_Win
}

// memory is shared, as seen by a Comm.
type memory struct {
	r *rank
	b []byte
}

// Apart: each rank is a process.
func (r *rank) Apart() bool { return true }

// SharedMemory is for comm.SharedMemory.
func (r *rank) SharedMemory(ctx context.Context, n int) (m comm.Memory, err error) {
	err = r.call(ctx, func() error {
		if _, err := r.header(ctx, kMemory, 0, 0, n, 0, true); err != nil {
			return err
		}
		s := &r.shared
		if s.asked && (s.b == nil || len(s.b) >= n) {
			return nil // the same on all ranks
		}
		if s.b != nil {
			if err := r.e.mpi("MPI_Win_free", C.win_free(&s.w)); err != nil {
				return err
			}
			s.b = nil
		}
		var base unsafe.Pointer
		if err := r.e.mpi("MPI_Win_allocate_shared", C.mem_open(r.c, C.int64_t(n), &base, &s.w)); err != nil {
			return err
		}
		if f := r.e.failure.Load(); f != nil {
			return f.own
		}
		if s.asked = true; base != nil {
			s.b = unsafe.Slice((*byte)(base), n)
		}
		return nil
	})
	if err != nil || r.shared.b == nil {
		return nil, err
	}
	return &memory{r, r.shared.b[:n:n]}, nil
}

func (m *memory) Bytes() []byte { return m.b }

func (m *memory) Fence(ctx context.Context) error {
	return m.r.call(ctx, func() error {
		if err := m.r.e.mpi("MPI_Win_sync", C.win_sync(m.r.shared.w)); err != nil {
			return err
		}
		if _, err := m.r.header(ctx, kMemoryFence, 0, 0, 0, 0, false); err != nil {
			return err
		}
		return m.r.e.mpi("MPI_Win_sync", C.win_sync(m.r.shared.w))
	})
}
