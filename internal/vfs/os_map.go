//go:build linux || darwin

package vfs

import (
	"errors"
	"io"
	"math"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"blobio/internal/calls"
)

// maxMap32 is how much is mapped at once where addresses are short, in bytes.
const maxMap32 = 64 << 20

// Map implements Mapper. MADV_SEQUENTIAL does more than read ahead: Linux then skips access tracking for the pages,
// which costs more than the mapping itself.
func (f *osFile) Map(off, n int64) (*Mapping, error) {
	if off < 0 || n < 1 || off > math.MaxInt64-n {
		return nil, f.pathError("mmap", syscall.EINVAL)
	}
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if off+n > size {
		return nil, f.pathError("mmap", io.ErrUnexpectedEOF)
	}
	page := int64(unix.Getpagesize())
	lead := off % page
	if strconv.IntSize == 32 && lead+n > maxMap32 {
		return nil, errors.ErrUnsupported
	}
	var b []byte
	err = f.system("mmap", func(fd int) error {
		b, err = calls.Mmap(fd, off-lead, int(lead+n))
		return err
	})
	switch {
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return nil, errors.ErrUnsupported // file systems without, no addresses left, or forbidden: reading may do
	case err != nil:
		return nil, err
	}
	_ = unix.Madvise(b, unix.MADV_SEQUENTIAL)
	return NewMapping(b[lead:], dropPages, func() error { return calls.Munmap(b) }), nil
}

// dropPages gives back the pages that lie in b as a whole.
func dropPages(b []byte) {
	page := unix.Getpagesize()
	skip := (page - int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(page))) % page
	if skip < len(b) {
		if b = b[skip : skip+(len(b)-skip)/page*page]; len(b) > 0 {
			_ = unix.Madvise(b, unix.MADV_DONTNEED) // of a mapping for reading: the file keeps them
		}
	}
}
