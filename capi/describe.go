//go:build cgo && unix

package main

// #include "edge.h"
import "C"

import (
	"fmt"

	"blobio/blob"
	"blobio/capi/internal/edge"
)

//export blobioGoGetHeader
func blobioGoGetHeader(h, p uintptr, size int64, needp uintptr, e *C.blobio_failure) int32 {
	return withReader(h, e, shared, func(x *file, r *blob.Reader) error {
		b, err := edge.Header(r)
		if err != nil {
			return fmt.Errorf("%s: header: %w", x.path, err)
		}
		if err := edge.Store(needp, int64(len(b))); err != nil || p == 0 && size == 0 {
			return err
		}
		dst, err := edge.Slice[byte](p, size)
		if err != nil {
			return fmt.Errorf("buffer of the header: %w", err)
		}
		if copy(dst, b) < len(b) {
			return fmt.Errorf("%s: the header has %d bytes, but the buffer has %d: %w", x.path, len(b), size, edge.ErrSmall)
		}
		return nil
	})
}

//export blobioGoInqState
func blobioGoInqState(h, p uintptr, size int64, e *C.blobio_failure) int32 {
	return withReader(h, e, shared, func(x *file, r *blob.Reader) error {
		s, err := edge.StateOf(r)
		if err != nil {
			return fmt.Errorf("%s: state: %w", x.path, err)
		}
		return edge.PutString("state", p, size, s)
	})
}
