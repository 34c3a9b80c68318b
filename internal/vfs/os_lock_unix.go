//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Lock implements Locker.
func (f *osFile) Lock(exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	return f.system("lock", func(fd int) error {
		err := unix.Flock(fd, how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("%w: %w", ErrLocked, err)
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOTSUP),
			errors.Is(err, unix.EINVAL), errors.Is(err, unix.EBADF): // EBADF: NFS locks alone only what is open for writing
			return fmt.Errorf("%w: %w", ErrNoLocks, err)
		}
		return err
	})
}
