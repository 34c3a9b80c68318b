//go:build cgo && unix

package main

// #cgo CFLAGS: -std=gnu11 -Wall -fvisibility=hidden
// #cgo mpi CFLAGS: -DBLOBIO_WITH_MPI
// #include "edge.h"
import "C"

import (
	"context"
	"runtime/debug"
	"unsafe"

	"blobio/blob"
	"blobio/capi/internal/edge"
	"blobio/comm"
)

// guarded runs f and stores its error as the last error of the calling thread. A panic of f, or a fault at an address of the
// caller, becomes an error.
func guarded(e *C.blobio_failure, f func() error) int32 {
	err := safely(f)
	if err == nil {
		return 0
	}
	return report(e, err)
}

// withFile runs f on the file of a handle. how is locked or shared.
func withFile(h uintptr, e *C.blobio_failure, how func(uintptr, func(*file) error) error, f func(*file) error) int32 {
	return guarded(e, func() error { return how(h, f) })
}

// withWriter is withFile for a file that is open for writing.
func withWriter(h uintptr, e *C.blobio_failure, how func(uintptr, func(*file) error) error, f func(*file, *blob.Writer) error) int32 {
	return withFile(h, e, how, func(x *file) error {
		w, err := x.writer()
		if err != nil {
			return err
		}
		return f(x, w)
	})
}

// withReader is withFile for a file that is open for reading.
func withReader(h uintptr, e *C.blobio_failure, how func(uintptr, func(*file) error) error, f func(*file, *blob.Reader) error) int32 {
	return withFile(h, e, how, func(x *file) error {
		r, err := x.reader()
		if err != nil {
			return err
		}
		return f(x, r)
	})
}

// withSchema runs f with the schema of a file, concurrently with other calls.
func withSchema(h uintptr, e *C.blobio_failure, f func(*file, *blob.Schema) error) int32 {
	return withFile(h, e, shared, func(x *file) error {
		s, err := x.schema()
		if err != nil {
			return err
		}
		return f(x, s)
	})
}

// in returns the context of a collective call. If ranks make different calls, the error names the calls.
func in(call string) context.Context { return comm.In(context.Background(), call) }

func safely(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = edge.Recovered(v)
		}
	}()
	return f()
}

func report(e *C.blobio_failure, err error) int32 {
	code := edge.CodeOf(err)
	file, off := edge.Where(err)
	e.code, e.offset = C.int(code), C.int64_t(off)
	put(e.file[:], file)
	put(e.text[:], edge.Words(err.Error()))
	return int32(code)
}

// put writes s and a NUL to dst. It truncates s if necessary.
func put(dst []C.char, s string) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst))
	n := copy(b[:len(b)-1], s)
	b[n] = 0
}
