//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// window is MPI memory (mem) that mirrors the caller's slice (local).
type window struct {
	r     *rank
	id    int
	w     C.MPI_Win
	mem   []byte // C memory that other ranks access
	local []byte // the caller's slice
	last  []byte // copy of local when it last equalled mem
	lens  []int64
	parts [][]byte         // mem of all ranks if they share memory, otherwise nil
	marks []*atomic.Uint32 // mark of each rank's part: 1 after another rank has changed the part in this epoch
	freed bool
}

// markAt returns the offset of the mark, which follows a part of n bytes.
func markAt(n int64) int64 { return (n + cacheLine - 1) &^ (cacheLine - 1) }

func (r *rank) NewWindow(ctx context.Context, local []byte) (comm.Window, error) {
	w := &window{r: r, local: local, last: bytes.Clone(local)}
	err := r.call(ctx, func() error {
		if _, err := r.meet(ctx, mark{sig: sig(kNewWindow, 0, 0)}, nil, true); err != nil {
			return err
		}
		w.id = r.windows
		r.windows++
		r.e.passive = r.e.passive || !r.local
		var base unsafe.Pointer
		if err := r.e.mpi("MPI_Win_allocate", C.win_open(r.c, C.int64_t(markAt(int64(len(local)))+cacheLine), &base, &w.w)); err != nil {
			return err
		}
		r.tidy.windows = append(r.tidy.windows, w)
		r.e.live++
		if f := r.e.failure.Load(); f != nil {
			return f.own
		}
		w.mem = unsafe.Slice((*byte)(base), len(local))
		copy(w.mem, local)
		(*atomic.Uint32)(unsafe.Add(base, markAt(int64(len(local))))).Store(0)
		if err := r.e.mpi("MPI_Win_sync", C.win_sync(w.w)); err != nil {
			return err
		}
		var err error
		if w.lens, err = r.lengths(ctx, len(local)); err != nil { // no rank accesses mem before this collective
			return err
		}
		return w.findParts()
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// findParts finds the parts of all ranks in shared memory.
func (w *window) findParts() error {
	if !w.r.local {
		return nil
	}
	parts, marks := make([][]byte, len(w.lens)), make([]*atomic.Uint32, len(w.lens))
	for i := range parts {
		var base unsafe.Pointer
		if C.win_part(w.w, C.int(i), &base) != C.MPI_SUCCESS || base == nil || uintptr(base)%8 != 0 {
			return nil
		}
		parts[i] = unsafe.Slice((*byte)(base), w.lens[i])
		marks[i] = (*atomic.Uint32)(unsafe.Add(base, markAt(w.lens[i])))
	}
	w.parts, w.marks = parts, marks
	return nil
}

func (w *window) Len(rank int) int64 {
	if rank < 0 || rank >= len(w.lens) {
		return 0
	}
	return w.lens[rank]
}

// access allocates n bytes of C memory and runs f with them. It fails if the part of the rank does not have n bytes at off.
func (w *window) access(ctx context.Context, rank int, off, n int64, f func(p buffer) error) error {
	return w.reach(ctx, rank, off, n, func() error {
		if n == 0 {
			return nil
		}
		p := alloc(int(min(n, int64(w.r.e.opts.Piece))))
		defer free(p) // all accesses are complete on return
		return f(p)
	})
}

// reach runs f on a thread that may call MPI. It fails if the part of the rank does not have n bytes at off.
func (w *window) reach(ctx context.Context, rank int, off, n int64, f func() error) error {
	return w.r.e.home.do(func() error {
		// No other rank waits for a one-sided access, so a cancelled ctx does not break the communication.
		if err := w.r.e.begun(); err != nil {
			return err
		}
		if err := w.valid(ctx, rank, off, n); err != nil {
			return err
		}
		return f()
	})
}

// valid returns an error unless the part of the rank has n bytes at off.
func (w *window) valid(ctx context.Context, rank int, off, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.freed {
		return fault.Usage("the window was freed")
	}
	if rank < 0 || rank >= len(w.lens) {
		return fmt.Errorf("%w: window of rank %d, want 0 ... %d", comm.ErrRange, rank, len(w.lens)-1)
	}
	if size := w.lens[rank]; off < 0 || n < 0 || n > size || off > size-n {
		return fmt.Errorf("%w: %d bytes at offset %d exceed the window of rank %d, which has %d bytes", comm.ErrRange, n, off, rank, size)
	}
	return nil
}

// pieces calls f for each piece of n bytes.
func (w *window) pieces(n int, f func(from, to int) error) error {
	size := w.r.e.opts.Piece &^ 7
	for from := 0; from < n; from += size {
		if err := f(from, min(n, from+size)); err != nil {
			return err
		}
	}
	return nil
}

func (w *window) Put(ctx context.Context, rank int, off int64, b []byte) error {
	if w.parts != nil {
		return w.reach(ctx, rank, off, int64(len(b)), func() error { w.store(rank, off, b); return nil })
	}
	return w.access(ctx, rank, off, int64(len(b)), func(p buffer) error {
		if len(b) == 8 && off%8 == 0 { // the element must be written in one step
			copy(p.bytes(8), b)
			return w.r.e.mpi("MPI_Accumulate", C.win_put_element(p.int64p(), C.int(rank), C.int64_t(off), w.w))
		}
		return w.pieces(len(b), func(from, to int) error {
			copy(p.bytes(to-from), b[from:to])
			return w.r.e.mpi("MPI_Put", C.win_put(p.p, C.int(to-from), C.int(rank), C.int64_t(off)+C.int64_t(from), w.w))
		})
	})
}

func (w *window) Get(ctx context.Context, rank int, off int64, b []byte) error {
	if w.parts != nil {
		return w.reach(ctx, rank, off, int64(len(b)), func() error { w.load(rank, off, b); return nil })
	}
	return w.access(ctx, rank, off, int64(len(b)), func(p buffer) error {
		return w.pieces(len(b), func(from, to int) error {
			err := w.r.e.mpi("MPI_Get", C.win_get(p.p, C.int(to-from), C.int(rank), C.int64_t(off)+C.int64_t(from), w.w))
			if err == nil {
				copy(b[from:to], p.bytes(to-from))
			}
			return err
		})
	})
}

// push copies the owner's changes to mem. By the rules of Window, other ranks do not access these bytes in this epoch.
func (w *window) push() {
	const block = 4096
	for at := 0; at < len(w.local); at += block {
		end := min(at+block, len(w.local))
		l, old, m := w.local[at:end], w.last[at:end], w.mem[at:end]
		if bytes.Equal(l, old) {
			continue
		}
		for i, x := range l {
			if x != old[i] {
				m[i], old[i] = x, x
			}
		}
	}
}

// fence ends an epoch. Each access was complete when its call returned, so a rendezvous between push and pull suffices.
func (w *window) fence(ctx context.Context, k kind, stay bool) error {
	if w.freed {
		return w.r.usage("%s of a freed window", kindNames[k])
	}
	w.push()
	if err := w.r.e.mpi("MPI_Win_sync", C.win_sync(w.w)); err != nil {
		return err
	}
	if _, err := w.r.meet(ctx, mark{sig: sig(k, 0, w.id)}, nil, stay); err != nil {
		return err
	}
	if err := w.r.e.mpi("MPI_Win_sync", C.win_sync(w.w)); err != nil {
		return err
	}
	if w.marks != nil && w.marks[w.r.rank].Swap(0) == 0 { // no other rank has changed this part
		return nil
	}
	copy(w.last, w.mem) // copy last to local, not mem, because other ranks may already change mem again
	copy(w.local, w.last)
	return nil
}

func (w *window) Fence(ctx context.Context) error {
	return w.r.call(ctx, func() error { return w.fence(ctx, kFence, false) })
}

func (w *window) Free(ctx context.Context) error {
	return w.r.call(ctx, func() error {
		if err := w.fence(ctx, kFree, true); err != nil {
			return err
		}
		w.freed = true
		w.mem, w.last, w.parts, w.marks = nil, nil, nil, nil
		if err := w.r.e.mpi("MPI_Win_free", C.win_free(&w.w)); err != nil {
			return err
		}
		w.r.tidy.windows = slices.DeleteFunc(w.r.tidy.windows, func(x *window) bool { return x == w })
		w.r.e.live--
		if f := w.r.e.failure.Load(); f != nil {
			return f.own
		}
		return nil
	})
}

// In a window of shared memory, ranks read and write in place. MPI calls must not be mixed with this: MPI would use a lock, and
// its writes could undo stores that were made without the lock.

// word returns the word at a multiple of 8 bytes. The word may extend into the padding after the part.
func (w *window) word(rank int, off int64) *uint64 {
	return (*uint64)(unsafe.Pointer(&w.parts[rank][off])) // parts are aligned to cache lines
}

// store writes b in place. In a word that is written only in part, it preserves changes that other ranks make to the rest.
func (w *window) store(rank int, off int64, b []byte) {
	if len(b) == 0 {
		return
	}
	for len(b) > 0 {
		in := int(off % 8)
		n := len(b) &^ 7
		switch {
		case in != 0 || n == 0:
			n = min(len(b), 8-in)
			e := w.word(rank, off-int64(in))
			for {
				was := atomic.LoadUint64(e)
				x := was
				copy((*[8]byte)(unsafe.Pointer(&x))[in:], b[:n])
				if atomic.CompareAndSwapUint64(e, was, x) {
					break
				}
			}
		case n == 8:
			atomic.StoreUint64(w.word(rank, off), binary.NativeEndian.Uint64(b))
		default:
			copy(w.parts[rank][off:], b[:n])
		}
		off, b = off+int64(n), b[n:]
	}
	w.marks[rank].Store(1) // set the mark last, because the owner clears it before it reads
}

// load reads b.
func (w *window) load(rank int, off int64, b []byte) {
	if len(b) == 8 && off%8 == 0 {
		binary.NativeEndian.PutUint64(b, atomic.LoadUint64(w.word(rank, off)))
		return
	}
	copy(b, w.parts[rank][off:])
}
