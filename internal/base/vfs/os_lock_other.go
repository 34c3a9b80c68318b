//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package vfs

import (
	"io/fs"
	"os"
)

// Lock implements Locker.
func (f *osFile) Lock(bool) error { return f.pathError("lock", ErrNoLocks) }

func lockFile(f *os.File, _ bool) error {
	return &fs.PathError{Op: "lock", Path: f.Name(), Err: ErrNoLocks}
}
