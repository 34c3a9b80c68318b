//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"blobio/comm"
)

// shared is memory that all ranks of a link share. Calls for at most len(b) bytes get this memory. If a later call needs more, it
// gets a new memory, and earlier callers keep theirs.
type shared struct {
	asked bool
	full  bool // no memory larger than b can be made; b may be nil
	b     []byte
	w     C.MPI_Win // window that holds b; null if b is an area
	// All windows and areas opened so far.
	windows []C.MPI_Win
	areas   [][]byte
}

// sharedMemory is the comm.Memory of a Comm.
type sharedMemory struct {
	r *rank
	b []byte
	w C.MPI_Win
}

// Apart returns true, because each rank is a process.
func (r *rank) Apart() bool { return true }

// SharedMemory implements comm.SharedMemory.
func (r *rank) SharedMemory(ctx context.Context, n int) (m comm.Memory, err error) {
	err = r.call(ctx, func() error {
		if _, err := r.meet(ctx, mark{sig: sig(kMemory, 0, 0), elems: int64(n)}, nil, true); err != nil {
			return err
		}
		s := &r.shared
		if s.asked && (s.full || len(s.b) >= n) {
			return nil // all ranks come to the same decision
		}
		// At least double the size. All memories together then need at most twice the size of the largest.
		size := max(n, 1) // for 0 bytes MPI may return no address
		if len(s.b) < math.MaxInt/2 {
			size = max(size, 2*len(s.b))
		}
		w := C.win_none()
		b, err := r.memory(ctx, size)
		if b != nil {
			s.areas, b = append(s.areas, b), b[arenaHead:]
		} else if err == nil {
			b, w, err = r.allocate(ctx, size)
		}
		if err != nil {
			return err
		}
		if s.asked = true; b == nil {
			s.full = true
		} else {
			if C.win_is_null(w) == 0 {
				s.windows = append(s.windows, w)
			}
			s.b, s.w = b, w
		}
		if f := r.e.failure.Load(); f != nil {
			return f.own
		}
		return nil
	})
	if err != nil || r.shared.b == nil || len(r.shared.b) < n {
		return nil, err
	}
	return &sharedMemory{r, r.shared.b[:n:n], r.shared.w}, nil
}

// allocate makes memory that all ranks share. It returns nil on all ranks if one rank is on another node or its MPI call failed.
func (l *link) allocate(ctx context.Context, size int) (b []byte, w C.MPI_Win, err error) {
	const exists, usable = 1, 2
	var whole C.int
	if C.mem_here(l.c, &whole) != C.MPI_SUCCESS || l.e.failing("node") {
		whole = 0
	}
	all, err := l.common(ctx, uint64(whole), true)
	if err != nil || all == 0 {
		return nil, w, err
	}
	var base unsafe.Pointer
	have := uint64(exists | usable)
	if C.mem_open(l.c, C.int64_t(size), &base, &w) != C.MPI_SUCCESS || base == nil || l.e.failing("shared") {
		have = exists
	}
	if C.win_is_null(w) != 0 || l.e.failing("window") {
		have = 0
	}
	if C.win_is_null(w) == 0 {
		l.e.live++
	}
	if all, err = l.common(ctx, have, true); err != nil {
		l.tidy.lost = true
		return nil, w, err
	}
	switch {
	case all&usable != 0:
		return unsafe.Slice((*byte)(base), size), w, nil
	case all&exists != 0: // otherwise keep the window until MPI ends, because only all ranks together can free it
		C.win_free(&w)
		l.e.live--
	}
	return nil, w, nil
}

// failing reports whether BLOBIO_MPI_FAIL, a list of step:rank, makes one of the steps fail on this rank. Tests set it.
func (e *Engine) failing(steps ...string) bool {
	return e.fails != "" && slices.ContainsFunc(steps, func(step string) bool {
		return slices.Contains(strings.Split(e.fails, ","), fmt.Sprintf("%s:%d", step, e.world.rank))
	})
}

func (m *sharedMemory) Bytes() []byte { return m.b }

func (m *sharedMemory) Fence(ctx context.Context) error {
	fence := mark{sig: sig(kMemoryFence, 0, 0)}
	if C.win_is_null(m.w) != 0 { // memory on a board needs no MPI call, because a board orders memory accesses
		_, err := m.r.begin(ctx, fence, nil)
		return err
	}
	return m.r.call(ctx, func() error {
		if err := m.r.e.mpi("MPI_Win_sync", C.win_sync(m.w)); err != nil {
			return err
		}
		if _, err := m.r.meet(ctx, fence, nil, false); err != nil {
			return err
		}
		return m.r.e.mpi("MPI_Win_sync", C.win_sync(m.w))
	})
}
