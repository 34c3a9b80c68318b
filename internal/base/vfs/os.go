package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"blobio/internal/base/cache"
	"blobio/internal/base/calls"
	"blobio/internal/base/fault"
)

// OS is the file system of the operating system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) Create(name string) (File, error)      { return create(name, 0o666) }
func (osFS) Open(name string) (File, error)        { return named(open, name, os.O_RDONLY) }
func (osFS) OpenRW(name string) (File, error)      { return named(openSeekable, name, os.O_RDWR) }
func (osFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return withRoom(func() ([]fs.DirEntry, error) { return os.ReadDir(name) })
}
func (osFS) Mkdir(name string) error    { return os.Mkdir(name, 0o777) }
func (osFS) MkdirAll(name string) error { return os.MkdirAll(name, 0o777) }
func (osFS) SyncDir(name string) error {
	_, err := withRoom(func() (_ struct{}, err error) { return struct{}{}, syncDir(name) })
	return err
}

// Rename implements FS.
func (osFS) Rename(oldname, newname string) error { return calls.Rename(oldname, newname) }

// RenameFile is fsys.Rename for a file made by the caller. On OS it takes one system call.
func RenameFile(fsys FS, oldname, newname string) error {
	switch fsys := OrOS(fsys).(type) {
	case osFS:
		return calls.RenameFile(oldname, newname)
	case *BindFS:
		return RenameFile(fsys.under, fsys.Real(oldname), fsys.Real(newname))
	case *noSyncFS:
		return RenameFile(fsys.FS, oldname, newname)
	}
	return fsys.Rename(oldname, newname)
}

// Remove implements FS.
func (osFS) Remove(name string) error { return calls.Remove(name) }

// named opens the file that has this name now. A client of a network file system may find the name's former file, whose server
// reports ErrStale. named then opens the name again, with the pauses and the limit of Again.
func named(open func(string, int) (File, error), name string, flag int) (f File, err error) {
	for range staleTries {
		if f, err = open(name, flag); !errors.Is(err, ErrStale) {
			break
		}
		time.Sleep(stalePause)
	}
	return f, err
}

// Lstat implements OwnerFS.
func (osFS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// CreateMode implements OwnerFS. O_EXCL refuses a link.
func (osFS) CreateMode(name string, perm fs.FileMode) (File, error) { return create(name, perm) }

// MkdirMode implements OwnerFS.
func (osFS) MkdirMode(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }

// open opens an existing file. It refuses a pipe, because a pipe has no offsets and its opening may wait for ever.
func open(name string, flag int) (File, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrPipe}
	case errors.Is(err, fs.ErrNotExist) && flag == os.O_RDONLY: // another call would be a message to the server of a network file system
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
	}
	return openFile(name, flag, 0)
}

// create creates a new file.
func create(name string, perm fs.FileMode) (File, error) {
	return openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
}

// ErrTooLong is in the error chain of ReadStream for a file that is too long.
var ErrTooLong = errors.New("the file is too long")

// ReadStream reads a whole file or pipe of the operating system, at most most bytes. If it is longer, ReadStream returns the
// first most bytes with ErrTooLong. A pipe without a writer is empty.
func ReadStream(name string, most int64) ([]byte, error) {
	f, err := withRoom(func() (*os.File, error) {
		return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // otherwise the open would wait for a writer
	})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if int64(len(b)) > most {
		return b[:most], &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLong, most)}
	}
	return b, err
}

// LFSPointer begins the short text that Git LFS stores in place of a large file.
const LFSPointer = "version https://git-lfs.github.com/spec/"

// IsPointer reports whether a file is a pointer of Git LFS instead of the file itself.
func IsPointer(fsys FS, name string) bool {
	f, err := fsys.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(LFSPointer))
	_, err = f.ReadAt(b, 0)
	return err == nil && string(b) == LFSPointer
}

// ByteOrderMark begins texts from some editors. It does not belong to the text.
const ByteOrderMark = "\ufeff"

// ReadText is ReadStream for a text written by people.
func ReadText(name string, most int64) ([]byte, error) {
	b, err := ReadStream(name, most)
	return bytes.TrimPrefix(b, []byte(ByteOrderMark)), err
}

// osFile extends calls.File. raw gives the descriptor to a system call. A concurrent Close does not free the descriptor during
// the call.
type osFile struct {
	*calls.File
	raw syscall.RawConn
}

func openFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := withRoom(func() (*calls.File, error) { return calls.OpenFile(name, flag, perm) })
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &osFile{File: f, raw: raw}, nil
}

func (f *osFile) Size() (int64, error) { return calls.Size(f.File) }

func (f *osFile) Sync() error { return f.sync() }

func (f *osFile) WritevAt(bufs [][]byte, off int64) (int64, error) {
	if off < 0 {
		return 0, f.pathError("writev", syscall.EINVAL)
	}
	return f.writev(bufs, off)
}

func (f *osFile) Allocate(off, n int64) error {
	if off < 0 || n < 0 || off+n < off {
		return f.pathError("allocate", syscall.EINVAL)
	}
	if n == 0 {
		return nil
	}
	return f.allocate(off, n)
}

// pathError adds the file name to an error, as package os does.
func (f *osFile) pathError(op string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return err
	}
	return &fs.PathError{Op: op, Path: f.Name(), Err: err}
}

// system runs a system call on the descriptor and repeats it if a signal interrupts it.
func (f *osFile) system(op string, call func(fd int) error) error {
	var err error
	if e := f.raw.Control(func(fd uintptr) {
		for {
			if err = call(int(fd)); err != syscall.EINTR {
				return
			}
		}
	}); e != nil {
		return f.pathError(op, e)
	}
	return f.pathError(op, err)
}

// Descriptors is the budget shared by all pools of open files of this process: half of its limit (RLIMIT_NOFILE). The other half
// is for short-lived files, connections, and the rest of the program.
var Descriptors = cache.NewBudget(openLimit() / 2)

// spareAtOnce is the number of idle files to close if an open fails for lack of descriptors.
const spareAtOnce = 16

// withRoom calls open. If the process has too many open files, withRoom closes idle files and calls open again.
func withRoom[T any](open func() (T, error)) (T, error) {
	for {
		v, err := open()
		if !fault.Exhausted(err) || !Descriptors.Spare(spareAtOnce) {
			return v, err
		}
	}
}
