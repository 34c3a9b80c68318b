package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if err != nil {
		err = &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return err
}
