//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rename is os.Rename without its look at the new name: on a network file system each look is a message, and the kernel refuses by itself to put a
// file in the place of a directory. It would put a directory in the place of an empty one, which os.Rename refuses.
func rename(from, to string) error {
	if info, err := os.Lstat(from); err != nil || info.IsDir() {
		return os.Rename(from, to)
	}
	for {
		switch err := unix.Rename(from, to); err {
		case nil:
			return nil
		case syscall.EINTR:
		case syscall.EISDIR, syscall.EEXIST, syscall.ENOTEMPTY:
			return os.Rename(from, to) // for its error
		default:
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
	}
}

// remove is os.Remove, which tries twice to remove what is not there.
func remove(name string) error {
	err := unix.Unlink(name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOENT):
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	return os.Remove(name)
}
