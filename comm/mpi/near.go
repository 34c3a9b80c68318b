//go:build mpi && cgo

package mpi

import (
	"context"
	"encoding/binary"
	"math"
	"sync/atomic"
	"unsafe"

	"blobio/comm"
)

// In a window that all share, ranks read and write in place, and combine elements by compare-and-swap of their words. MPI would do that
// under a lock and undo what is stored without it, so it has no part in this. Only elements that are not at multiples of 8 bytes are combined
// by MPI: it touches no byte beside them.

// isNear says whether elements at off are combined in place.
func (w *window) isNear(off int64) bool { return w.parts != nil && off%8 == 0 }

// word is that at a multiple of 8 bytes. It may reach over the end of its part: there is room behind it.
func (w *window) word(rank int, off int64) *uint64 {
	return (*uint64)(unsafe.Pointer(&w.parts[rank][off])) // parts begin at a cache line
}

// hold begins an access where no closure is needed. Whoever gets true and no error must unlock home.
func (w *window) hold(ctx context.Context, rank int, off, n int64) (bool, error) {
	h := w.r.e.home
	if !h.here() {
		return false, nil
	}
	var err error
	// Beside what is looked at here, an access in shared memory needs no care of the engine but now and then.
	if e := w.r.e; (e.calls+1)%64 == 0 || e.closed || e.failure.Load() != nil || !e.node.whole || e.node.broken.Load() != 0 {
		err = w.check(ctx, rank, off, n)
	} else {
		e.calls++
		err = w.valid(ctx, rank, off, n)
	}
	if err != nil {
		h.mu.Unlock()
	}
	return true, err
}

func (w *window) putNear(ctx context.Context, rank int, off int64, b []byte) error {
	n := int64(len(b))
	if ok, err := w.hold(ctx, rank, off, n); ok {
		if err == nil {
			w.store(rank, off, b)
			w.r.e.home.mu.Unlock()
		}
		return err
	}
	return w.reach(ctx, rank, off, n, func() error { w.store(rank, off, b); return nil })
}

func (w *window) getNear(ctx context.Context, rank int, off int64, b []byte) error {
	n := int64(len(b))
	if ok, err := w.hold(ctx, rank, off, n); ok {
		if err == nil {
			w.load(rank, off, b)
			w.r.e.home.mu.Unlock()
		}
		return err
	}
	return w.reach(ctx, rank, off, n, func() error { w.load(rank, off, b); return nil })
}

// store puts b in place. Of words that it fills in part the rest stays, whoever else changes that.
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
	w.marks[rank].Store(1) // after all else: the owner takes the mark away before he looks
}

// load gets b.
func (w *window) load(rank int, off int64, b []byte) {
	if len(b) == 8 && off%8 == 0 {
		binary.NativeEndian.PutUint64(b, atomic.LoadUint64(w.word(rank, off)))
		return
	}
	copy(b, w.parts[rank][off:])
}

// changeNear changes n elements at off, each as if alone, to what f makes of the number of an element and its bits.
func (w *window) changeNear(ctx context.Context, rank int, off int64, n int, f func(i int, was uint64) uint64) error {
	return w.reach(ctx, rank, off, 8*int64(n), func() error {
		for i := range n {
			e := w.word(rank, off+8*int64(i))
			for {
				if was := atomic.LoadUint64(e); atomic.CompareAndSwapUint64(e, was, f(i, was)) {
					break
				}
			}
		}
		if n > 0 {
			w.marks[rank].Store(1)
		}
		return nil
	})
}

func combined(op comm.Op, was uint64, v int64) uint64 {
	if op == comm.Sum {
		return was + uint64(v)
	}
	acc := [1]int64{int64(was)}
	op.CombineInt64(acc[:], []int64{v})
	return uint64(acc[0])
}

func combinedFloat(op comm.Op, was uint64, v float64) uint64 {
	x := math.Float64frombits(was)
	switch op {
	case comm.Sum:
		x += v
	case comm.Prod:
		x *= v
	case comm.Max:
		x = max(x, v)
	case comm.Min:
		x = min(x, v)
	default:
		x = v
	}
	return math.Float64bits(x)
}
