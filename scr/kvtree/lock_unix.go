//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package kvtree

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// lock takes a lock without waiting: errHeld if another descriptor has one that excludes it, ErrNoLocks if the file
// system does not lock.
func lock(fd uintptr, kind LockKind, exclusive bool) error {
	var err error
	for {
		if kind == Fcntl {
			err = fcntlLock(fd, exclusive)
		} else {
			how := unix.LOCK_SH
			if exclusive {
				how = unix.LOCK_EX
			}
			err = unix.Flock(int(fd), how|unix.LOCK_NB)
		}
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	for _, held := range []error{unix.EWOULDBLOCK, unix.EAGAIN, unix.EACCES} {
		if errors.Is(err, held) {
			return errHeld
		}
	}
	for _, no := range []error{unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP, unix.ENOTSUP, unix.EINVAL} {
		if errors.Is(err, no) {
			return fmt.Errorf("%w: %w", err, ErrNoLocks)
		}
	}
	return err
}
