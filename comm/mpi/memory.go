//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unsafe"

	"blobio/comm"
)

// shared is memory that all ranks of a link see, kept for the next who asks until
// somebody asks for more, and from then on for those who have it.
type shared struct {
	asked bool
	full  bool // there will be no more than b, which may be nil
	b     []byte
	w     C.MPI_Win // of b; null if it is an area
	// What was ever opened, for memory is kept for those who have it.
	windows []C.MPI_Win
	areas   [][]byte
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
		if s.asked && (s.full || len(s.b) >= n) {
			return nil // the same on all ranks
		}
		// At least twice as much as before, so that what is kept is no more than what is used.
		size := max(n, 1) // of 0 bytes MPI may give no address
		if len(s.b) < math.MaxInt/2 {
			size = max(size, 2*len(s.b))
		}
		b, w, err := r.area(ctx, size)
		if err == nil && b == nil {
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
	return &memory{r, r.shared.b[:n:n], r.shared.w}, nil
}

// area makes memory that the ranks of a board see; nil, on all of them, if they have no board or a rank cannot have it.
func (r *rank) area(ctx context.Context, size int) (b []byte, none C.MPI_Win, err error) {
	none = C.win_none()
	if r.board == nil || size > math.MaxInt-arenaHead {
		return nil, none, nil
	}
	var o offer
	var mine error
	if r.rank == 0 {
		var f io.Closer
		if b, f, o, mine = newArea(arenaHead + size); mine == nil {
			defer f.Close()
		}
	}
	if err = r.meet(ctx, mark{}, o[:], true); err == nil && r.rank != 0 {
		o = offer(r.board.left(0))
		b, mine = openArea(&o)
	}
	ok := uint64(0)
	if err == nil {
		if mine == nil && !r.e.failing("node", "shared", "window", "arena") {
			ok = 1
		}
		ok, err = r.common(ctx, ok, true)
	}
	if b != nil && (ok == 0 || err != nil) {
		closeArea(b)
	}
	if ok == 0 || err != nil {
		return nil, none, err
	}
	r.shared.areas = append(r.shared.areas, b)
	return b[arenaHead:], none, nil
}

// allocate makes memory that all ranks see; nil, on all of them, if a rank cannot have it, because it is on another node or
// because its MPI failed.
func (r *rank) allocate(ctx context.Context, size int) (b []byte, w C.MPI_Win, err error) {
	const exists, usable = 1, 2
	var whole C.int
	if C.mem_here(r.c, &whole) != C.MPI_SUCCESS || r.e.failing("node") {
		whole = 0
	}
	all, err := r.common(ctx, uint64(whole), true)
	if err != nil || all == 0 {
		return nil, w, err
	}
	var base unsafe.Pointer
	have := uint64(exists | usable)
	if C.mem_open(r.c, C.int64_t(size), &base, &w) != C.MPI_SUCCESS || base == nil || r.e.failing("shared") {
		have = exists
	}
	if C.win_is_null(w) != 0 || r.e.failing("window") {
		have = 0
	}
	if C.win_is_null(w) == 0 {
		r.e.live++
	}
	if all, err = r.common(ctx, have, true); err != nil {
		r.tidy.lost = true
		return nil, w, err
	}
	switch {
	case all&usable != 0:
		return unsafe.Slice((*byte)(base), size), w, nil
	case all&exists != 0: // otherwise those who have one keep it until MPI ends, for all must free it
		C.win_free(&w)
		r.e.live--
	}
	return nil, w, nil
}

// failing says whether a test wants one of the steps to fail on this rank: BLOBIO_MPI_FAIL lists step:rank.
func (e *Engine) failing(steps ...string) bool {
	return e.fails != "" && slices.ContainsFunc(steps, func(step string) bool {
		return slices.Contains(strings.Split(e.fails, ","), fmt.Sprintf("%s:%d", step, e.world.rank))
	})
}

func (m *memory) Bytes() []byte { return m.b }

func (m *memory) Fence(ctx context.Context) error {
	if C.win_is_null(m.w) != 0 { // a board orders what is stored and read
		_, err := m.r.begin(ctx, kMemoryFence, 0, 0, 0, 0, nil)
		return err
	}
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
