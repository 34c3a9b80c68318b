//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"unsafe"
)

// buffer is C memory.
type buffer struct{ p unsafe.Pointer }

func alloc(n int) buffer { return buffer{C.malloc(C.size_t(max(n, 8)))} }

func (b buffer) bytes(n int) []byte   { return unsafe.Slice((*byte)(b.p), n) }
func (b buffer) ints(n int) []C.int   { return unsafe.Slice((*C.int)(b.p), n) }
func (b buffer) int64s(n int) []int64 { return unsafe.Slice((*int64)(b.p), n) }
func (b buffer) int64p() *C.int64_t   { return (*C.int64_t)(b.p) }
func (b buffer) intp() *C.int         { return (*C.int)(b.p) }

// finish waits for the request of a call. After an error the buffers must not be freed, because MPI may still use them.
func (l *link) finish(ctx context.Context, what string, code C.int, req *C.MPI_Request) error {
	if err := l.e.mpi(what, code); err != nil {
		return err
	}
	return l.complete(ctx, req, noHeader, false)
}

func free(bufs ...buffer) {
	for _, b := range bufs {
		C.free(b.p)
	}
}

// portion returns how many bytes of a rank one MPI call may transfer, so that the parts of all ranks together are at most one
// piece. longest is the size of the longest part, total the size of all parts.
func (l *link) portion(longest, total int64) int64 {
	if total <= int64(l.e.opts.Piece) {
		return max(longest, 1)
	}
	return max(1, int64(l.e.opts.Piece/l.size))
}

// layout fills counts and displs for consecutive parts, and returns their sum.
func layout(counts, displs []C.int, n func(i int) int) int {
	sum := 0
	for i := range counts {
		counts[i], displs[i] = C.int(n(i)), C.int(sum)
		sum += n(i)
	}
	return sum
}

// cut returns the range of a part of n bytes that round k transfers. Each round transfers portion bytes.
func cut(n, k, portion int64) (from, to int64) {
	from = min(n, k*portion)
	return from, min(n, from+portion)
}
