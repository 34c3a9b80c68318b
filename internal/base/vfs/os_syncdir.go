//go:build !windows && !plan9 && !js && !wasip1

package vfs

import (
	"errors"
	"os"
	"syscall"

	"blobio/internal/base/calls"
)

func syncDir(name string) error {
	d, err := calls.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = d.Sync()
	// Some network and user-space file systems have no fsync of a directory: their
	// entries are as durable as they get.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EBADF) {
		err = nil
	}
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}
