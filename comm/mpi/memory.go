//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"math"
	"unsafe"

	"blobio/comm"
)

// shared is memory that all ranks of a link see, kept for the next who asks until
// somebody asks for more, and from then on for those who have it.
type shared struct {
	asked bool // and if b is nil there is none
	b     []byte
	w     C.MPI_Win
	old   []C.MPI_Win
}

// memory is shared, as seen by a Comm.
type memory struct {
	r *rank
	b []byte
	w C.MPI_Win
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
		// At least twice as much as before, so that what is kept is no more than what is used.
		size := n
		if len(s.b) < math.MaxInt/2 {
			size = max(n, 2*len(s.b))
		}
		var base unsafe.Pointer
		var w C.MPI_Win
		if err := r.e.mpi("MPI_Win_allocate_shared", C.mem_open(r.c, C.int64_t(size), &base, &w)); err != nil {
			return err
		}
		if f := r.e.failure.Load(); f != nil {
			return f.own
		}
		if s.asked = true; base != nil {
			if s.b != nil {
				s.old = append(s.old, s.w)
			}
			s.b, s.w = unsafe.Slice((*byte)(base), size), w
		}
		return nil
	})
	if err != nil || r.shared.b == nil {
		return nil, err
	}
	return &memory{r, r.shared.b[:n:n], r.shared.w}, nil
}

func (m *memory) Bytes() []byte { return m.b }

func (m *memory) Fence(ctx context.Context) error {
	return m.r.call(ctx, func() error {
		if err := m.r.e.mpi("MPI_Win_sync", C.win_sync(m.w)); err != nil {
			return err
		}
		if _, err := m.r.header(ctx, kMemoryFence, 0, 0, 0, 0, false); err != nil {
			return err
		}
		return m.r.e.mpi("MPI_Win_sync", C.win_sync(m.w))
	})
}
