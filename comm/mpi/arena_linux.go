//go:build mpi && cgo

package mpi

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Processes of a node share memory by a file without a name (memfd), which vanishes if all processes are killed. The process
// that creates the file sends its process number and descriptor to the others.

// offer says where another process finds common memory: process, descriptor and length, 8 bytes each, and a token.
type offer [24 + tokenBytes]byte

// newArea makes n bytes of common memory. The memory begins with the token of the offer.
func newArea(n int) (b []byte, f *os.File, o offer, err error) {
	// Some systems require MFD_NOEXEC_SEAL. Old kernels do not know it.
	fd, err := unix.MemfdCreate("blobio", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("blobio", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, nil, o, err
	}
	f = os.NewFile(uintptr(fd), "memfd")
	if err = f.Truncate(int64(n)); err == nil {
		b, err = unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		f.Close()
		return nil, nil, o, err
	}
	binary.NativeEndian.PutUint64(o[:], uint64(os.Getpid()))
	binary.NativeEndian.PutUint64(o[8:], uint64(fd))
	binary.NativeEndian.PutUint64(o[16:], uint64(n))
	_, _ = rand.Read(o[24:]) // never fails
	copy(b, o[24:])
	return b, f, o, nil
}

// openArea maps memory of another process.
func openArea(o *offer) ([]byte, error) {
	pid, fd := binary.NativeEndian.Uint64(o[:]), binary.NativeEndian.Uint64(o[8:])
	n := binary.NativeEndian.Uint64(o[16:])
	name := fmt.Sprintf("/proc/%d/fd/%d", pid, fd)
	// If the processes have different process namespaces, the name may be any file, even a device that changes when it is
	// opened.
	if what, err := os.Readlink(name); err != nil || !strings.HasPrefix(what, "/memfd:blobio") {
		return nil, fmt.Errorf("%s is %q: %w", name, what, cmp.Or(err, os.ErrNotExist))
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// In this namespace another process may have the number, which has a different file.
	info, err := f.Stat()
	if err != nil || uint64(info.Size()) != n || n < tokenBytes || n > 1<<46 {
		return nil, fmt.Errorf("process %d has a different file", pid)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil && !bytes.Equal(b[:tokenBytes], o[24:]) {
		closeArea(b)
		return nil, fmt.Errorf("process %d has a different file", pid)
	}
	return b, err
}

func closeArea(b []byte) { _ = unix.Munmap(b) }

// take reserves n zero bytes of an arena for a link and returns their offset, or 0 if the arena has not enough space.
func take(arena []byte, n int) int64 {
	n = (n + cacheLine - 1) / cacheLine * cacheLine
	used := (*int64)(unsafe.Pointer(&arena[cacheLine]))
	at := atomic.AddInt64(used, int64(n)) - int64(n) + arenaHead
	if at+int64(n) > int64(len(arena)) {
		return 0
	}
	return at
}
