//go:build (linux && !(cgo && (mpi || libc))) || darwin

package calls

import "golang.org/x/sys/unix"

// Pwritev is pwritev(2) of at most IOV_MAX slices, of which none is empty.
func Pwritev(fd int, bufs [][]byte, off int64) (int, error) { return unix.Pwritev(fd, bufs, off) }

// Mmap maps n bytes of a file from off on, which is a multiple of the size of a page, for reading.
func Mmap(fd int, off int64, n int) ([]byte, error) {
	return unix.Mmap(fd, off, n, unix.PROT_READ, unix.MAP_SHARED)
}

// Munmap ends what Mmap returned.
func Munmap(b []byte) error { return unix.Munmap(b) }
