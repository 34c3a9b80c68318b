//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Lock implements Locker.
func (f *osFile) Lock(exclusive bool) error {
	return f.system("lock", func(fd int) error { return flock(fd, exclusive) })
}

// lockFile locks an open file that is not from OS.
func lockFile(f *os.File, exclusive bool) error {
	c, err := f.SyscallConn()
	if err == nil {
		if cerr := c.Control(func(fd uintptr) { err = flock(int(fd), exclusive) }); cerr != nil {
			err = cerr
		}
	}
	if err != nil {
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

func flock(fd int, exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	var err error
	uninterrupted(func() { err = unix.Flock(fd, how|unix.LOCK_NB) })
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return fmt.Errorf("%w: %w", ErrLocked, err)
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOTSUP),
		errors.Is(err, unix.EINVAL), errors.Is(err, unix.EBADF): // EBADF: NFS can lock only files open for writing
		return fmt.Errorf("%w: %w", ErrNoLocks, err)
	}
	return err
}
