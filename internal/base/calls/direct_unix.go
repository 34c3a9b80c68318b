//go:build (linux && !(cgo && (mpi || libc))) || darwin

package calls

import "golang.org/x/sys/unix"

// Pwritev is pwritev(2) of at most IOV_MAX slices, none of them empty.
func Pwritev(fd int, bufs [][]byte, off int64) (int, error) { return unix.Pwritev(fd, bufs, off) }
