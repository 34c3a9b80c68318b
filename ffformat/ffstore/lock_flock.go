//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package ffstore

import (
	"errors"
	"io"
	"os"
	"syscall"
)

func lockDir(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		switch err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return f, nil
		case errors.Is(err, syscall.EINTR):
			continue
		}
		break
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, pkg.Errorf("%s: another Store writes to it: %w", dir, ErrInUse)
	}
	return nil, nil // a file system without such locks
}
