//go:build mpi && cgo

package mpi

import (
	"slices"
	"strings"
	"unsafe"
)

// spares are slices that the caller is through with, for what later calls return: new memory costs more than to fill it.
type spares struct {
	list  [][]byte
	bytes int
}

const (
	minSpare   = 1 << 10
	maxSpares  = 64
	spareBytes = 32 << 20 // in all
)

// Recycle is for comm.Recycle.
func (r *rank) Recycle(b ...[]byte) {
	h := r.e.home
	h.mu.Lock()
	defer h.mu.Unlock()
	r.e.spares.add(b...)
}

func (s *spares) add(b ...[]byte) {
	for _, x := range b {
		x = x[:cap(x)]
		if len(x) >= minSpare && len(x) <= spareBytes && uintptr(unsafe.Pointer(&x[0]))%8 == 0 { // for numbers too
			s.list = append(s.list, x)
			s.bytes += len(x)
		}
	}
	drop := 0
	for ; len(s.list)-drop > maxSpares || s.bytes > spareBytes; drop++ { // the oldest
		s.bytes -= len(s.list[drop])
	}
	s.list = slices.Delete(s.list, 0, drop)
}

// room makes n bytes that the caller overwrites: they need not be zero.
func (e *Engine) room(n int) []byte {
	s := &e.spares
	for i, x := range slices.Backward(s.list) {
		if n >= minSpare && len(x) >= n && len(x)/2 <= n {
			s.bytes -= len(x)
			s.list = slices.Delete(s.list, i, i+1)
			return x[:n:n]
		}
	}
	return unfilled(n)
}

// unfilled is new memory that need not be zero.
func unfilled(n int) []byte {
	if n < 1<<10 {
		return make([]byte, n)
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}

// words is room for n numbers.
func (e *Engine) words(n int) []int64 {
	if 8*n < minSpare {
		return make([]int64, n)
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(&e.room(8 * n)[0])), n) // what is so long is aligned
}

func unfilledWords(n int) []int64 {
	if 8*n < minSpare {
		return make([]int64, n)
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(&unfilled(8 * n)[0])), n)
}
