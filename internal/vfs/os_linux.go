package vfs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// allocate reserves blocks and keeps the size, so that a file system that cannot
// reserve (where this is no operation) gives the same file.
func (f *osFile) allocate(off, n int64) error {
	err := f.system("fallocate", func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// sync: fdatasync writes the size too, and spares the journal the times.
func (f *osFile) sync() error { return f.system("fdatasync", unix.Fdatasync) }
