//go:build cgo && unix

package main

// #include <stdlib.h>
// #include "edge.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"unsafe"

	"blobio/blob"
	"blobio/capi/internal/edge"
	"blobio/ffformat/ffstore"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
	"blobio/internal/versioned/arrays"
	"blobio/versioned"
)

//export blobioGoConvert
func blobioGoConvert(inp, outp, optp uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		in, err := path(inp)
		if err != nil {
			return err
		}
		out, err := path(outp)
		if err != nil {
			return err
		}
		s, err := optional("options", optp)
		if err != nil {
			return err
		}
		o, err := edge.ConvertOptions(s)
		if err != nil {
			return err
		}
		ctx := context.Background()
		r, err := blob.Open(ctx, in, &blob.OpenOptions{AllowMissing: o.FillMissing})
		if err != nil {
			return err
		}
		defer r.Close()
		return blob.Convert(ctx, r, out, o)
	})
}

// check passes each finding to f, and stores the numbers of findings at countp.
func check(pathp, optp, countp uintptr, f func(blob.Finding) error) error {
	name, err := path(pathp)
	if err != nil {
		return err
	}
	s, err := optional("options", optp)
	if err != nil {
		return err
	}
	o, err := edge.CheckOptions(s)
	if err != nil {
		return err
	}
	var counts [3]int64
	if err := edge.Store(countp, counts); err != nil {
		return err
	}
	findings, err := findingsOf(name, o)
	if err != nil {
		return err
	}
	for found := range findings {
		counts[min(found.Severity, blob.Error)]++
		if err := edge.Store(countp, counts); err != nil {
			return err
		}
		if err := f(found); err != nil {
			return err
		}
	}
	return nil
}

// findingsOf returns the findings in a dataset, a versioned array or a
// checkpoint store.
func findingsOf(name string, o *blob.CheckOptions) (iter.Seq[blob.Finding], error) {
	ctx := context.Background()
	if arrays.Is(name, nil) {
		v, err := versioned.OpenView(name, nil, nil)
		if err != nil {
			return nil, err
		}
		return func(yield func(blob.Finding) bool) {
			defer v.Close()
			v.Check(ctx, nil)(yield)
		}, nil
	}
	if _, err := ffstore.OpenView(name, nil); isDir(name) && !errors.Is(err, fault.ErrNotFormat) {
		return ffstore.Check(ctx, name, &ffstore.Options{Quick: o.Quick, Workers: o.Workers}), nil
	}
	if _, err := subfile.Find(vfs.OS, name); err != nil { // there is nothing to check
		return nil, err
	}
	return blob.Check(ctx, name, o), nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

//export blobioGoCheck
func blobioGoCheck(pathp, optp, callback, user, countp uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		return check(pathp, optp, countp, func(f blob.Finding) error {
			if callback == 0 {
				return nil
			}
			code := edge.OK
			if f.Err != nil {
				code = edge.CodeOf(f.Err)
			}
			texts := [...]*C.char{C.CString(f.File), C.CString(f.Field), C.CString(edge.Words(f.Msg)), C.CString(edge.Words(f.String()))}
			defer func() {
				for _, t := range texts {
					C.free(unsafe.Pointer(t))
				}
			}()
			if C.blobio_edge_found(C.uintptr_t(callback), C.uintptr_t(user), C.int(min(f.Severity, blob.Error)), C.int(code), C.int64_t(f.Offset), texts[0], texts[1], texts[2], texts[3]) != 0 {
				return fmt.Errorf("check: %w", edge.ErrStopped)
			}
			return nil
		})
	})
}

//export blobioGoCheckText
func blobioGoCheckText(pathp, optp, p uintptr, size int64, countp uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		if p == 0 || size < 1 {
			return edge.Usage("the buffer for the text is NULL")
		}
		var b strings.Builder
		if err := check(pathp, optp, countp, func(f blob.Finding) error {
			b.WriteString(edge.Words(f.String()))
			b.WriteByte('\n')
			return nil
		}); err != nil {
			return err
		}
		return edge.PutString("text", p, size, b.String())
	})
}
