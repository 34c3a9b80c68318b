//go:build mpi && cgo

package mpi

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// In a window that all share, ranks read and write in place. MPI would do that under a lock and undo what is stored without it, so it has no part in
// this.

// word is that at a multiple of 8 bytes. It may reach over the end of its part: there is room behind it.
func (w *window) word(rank int, off int64) *uint64 {
	return (*uint64)(unsafe.Pointer(&w.parts[rank][off])) // parts begin at a cache line
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
