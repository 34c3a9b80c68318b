//go:build linux && cgo && (mpi || libc)

package calls

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// callMax is the maximum of bytes per read or write: the kernel moves less than 2 GiB at once.
const callMax = 1 << 30

// File is an open file. It has methods of *os.File with the same errors.
type File struct {
	name    string
	mu      sync.RWMutex // read-locked while the descriptor is in use, so that it is not closed and given to another file
	fd      int          // -1: closed
	cleanup runtime.Cleanup
}

var specialBits = []struct {
	in fs.FileMode
	c  uint32
}{{fs.ModeSetuid, syscall.S_ISUID}, {fs.ModeSetgid, syscall.S_ISGID}, {fs.ModeSticky, syscall.S_ISVTX}}

// OpenFile is os.OpenFile.
func OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	mode := uint32(perm.Perm())
	for _, bit := range specialBits {
		if perm&bit.in != 0 {
			mode |= bit.c
		}
	}
	fd, err := open(name, flag|syscall.O_CLOEXEC, mode)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := &File{name: name, fd: fd}
	f.cleanup = runtime.AddCleanup(f, func(fd int) { _ = closeFD(fd) }, fd) // an error has no caller to return to
	return f, nil
}

// use calls call with the descriptor, which stays open during the call.
func (f *File) use(op string, call func(fd int) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	err := error(fs.ErrClosed)
	if f.fd >= 0 {
		err = call(f.fd)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: f.name, Err: err}
	}
	return nil
}

// move reads or writes all of b, in several calls if necessary. It returns the error none if a call moves no byte.
func (f *File) move(op string, b []byte, off int64, none error, call func(fd int, b []byte, off int64) (int, error)) (total int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	end := false
	err = f.use(op, func(fd int) error {
		for total < len(b) {
			n, err := call(fd, b[total:min(len(b), total+callMax)], off+int64(total))
			switch {
			case err == syscall.EINTR:
			case err != nil:
				return err
			case n == 0 && none == io.EOF:
				end = true
				return nil
			case n == 0:
				return none
			default:
				total += n
			}
		}
		return nil
	})
	if end {
		err = io.EOF
	}
	return total, err
}

var errNegative = errors.New("negative offset") // the text of package os

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "readat", Path: f.name, Err: errNegative}
	}
	return f.move("read", b, off, io.EOF, pread)
}

// WriteAt implements io.WriterAt.
func (f *File) WriteAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "writeat", Path: f.name, Err: errNegative}
	}
	return f.move("write", b, off, io.ErrUnexpectedEOF, pwrite)
}

// Truncate sets the size in bytes.
func (f *File) Truncate(n int64) error {
	return f.use("truncate", func(fd int) error { return again(func() error { return ftruncate(fd, n) }) })
}

// Sync is fsync(2).
func (f *File) Sync() error {
	return f.use("sync", func(fd int) error { return again(func() error { return fsync(fd) }) })
}

// Stat returns the FileInfo of package os, which os.SameFile accepts. It is rarely called and bypasses the C library.
func (f *File) Stat() (info fs.FileInfo, err error) {
	err = f.use("stat", func(fd int) error {
		second, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		g := os.NewFile(uintptr(second), f.name)
		defer g.Close()
		info, err = g.Stat()
		return err
	})
	return info, err
}

// Size returns the size of an open file in bytes.
func Size(f *File) (n int64, err error) {
	err = f.use("stat", func(fd int) error {
		return again(func() error { n, err = size(fd); return err })
	})
	return n, err
}

// Close closes the file after all running calls have ended.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := error(fs.ErrClosed)
	if f.fd >= 0 {
		f.cleanup.Stop()
		err = closeFD(f.fd)
		f.fd = -1
	}
	if err != nil {
		return &fs.PathError{Op: "close", Path: f.name, Err: err}
	}
	return nil
}

// Name returns the name with which the file was opened.
func (f *File) Name() string { return f.name }

// SyscallConn implements syscall.Conn.
func (f *File) SyscallConn() (syscall.RawConn, error) { return rawFile{f}, nil }

type rawFile struct{ f *File }

func (r rawFile) Control(call func(fd uintptr)) error {
	r.f.mu.RLock()
	defer r.f.mu.RUnlock()
	if r.f.fd < 0 {
		return fs.ErrClosed
	}
	call(uintptr(r.f.fd))
	return nil
}

func (r rawFile) Read(func(uintptr) bool) error  { return errors.ErrUnsupported }
func (r rawFile) Write(func(uintptr) bool) error { return errors.ErrUnsupported }
