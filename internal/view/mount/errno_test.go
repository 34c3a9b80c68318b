//go:build linux && !386 && !arm

package mount

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"blobio/internal/base/diary"
	"blobio/internal/base/fault"
	"blobio/internal/view/tree"
)

// TestErrno checks that a resource shortage of this process, anywhere in the error chain, is never reported as an error of the
// data.
func TestErrno(t *testing.T) {
	m := &Mount{opt: Options{Log: diary.New(nil, nil)}}
	full := &os.PathError{Op: "open", Path: "x", Err: unix.EMFILE}
	for _, c := range []struct {
		err  error
		want syscall.Errno
	}{
		{full, unix.EMFILE}, {errors.Join(os.ErrNotExist, full), unix.EMFILE}, {fault.At("x", 0, "header", full, "unreadable"), unix.EMFILE}, {fmt.Errorf("%w: %w", unix.EINVAL, unix.ENOMEM), unix.ENOMEM},
		{unix.ENFILE, unix.ENFILE}, {tree.ErrTooMany, unix.ENFILE}, {os.ErrNotExist, unix.ENOENT}, {os.ErrPermission, unix.EACCES}, {unix.ESTALE, unix.ESTALE}, {fault.ErrCorrupt, unix.EIO}, {unix.EINVAL, unix.EIO},
	} {
		if n := m.errno("open", "x", c.err); n != c.want {
			t.Errorf("%v: %v, want %v", c.err, n, c.want)
		}
	}
}
