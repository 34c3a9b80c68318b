//go:build !(cgo && (mpi || libc))

package calls

import "golang.org/x/sys/unix"

// Fallocate is fallocate(2).
func Fallocate(fd int, mode uint32, off, n int64) error { return unix.Fallocate(fd, mode, off, n) }

// Fdatasync is fdatasync(2).
func Fdatasync(fd int) error { return unix.Fdatasync(fd) }
