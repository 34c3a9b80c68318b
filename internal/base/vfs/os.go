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

// RenameFile is fsys.Rename of a file that the caller has made. Of the operating system's it takes one call.
func RenameFile(fsys FS, oldname, newname string) error {
	if _, ok := OrOS(fsys).(osFS); !ok {
		return fsys.Rename(oldname, newname)
	}
	return calls.RenameFile(oldname, newname)
}

// Remove implements FS.
func (osFS) Remove(name string) error { return calls.Remove(name) }

// named opens what has a name now. A client of a network file system may find the file that had the name a moment ago, which its server says is gone:
// it looks again, as long as Again does.
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

// CreateMode implements OwnerFS. No link is followed: O_EXCL takes none for a free name.
func (osFS) CreateMode(name string, perm fs.FileMode) (File, error) { return create(name, perm) }

// MkdirMode implements OwnerFS.
func (osFS) MkdirMode(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }

// open opens what is there, but no pipe: that would wait for somebody at its other end, and has no positions.
func open(name string, flag int) (File, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrPipe}
	case errors.Is(err, fs.ErrNotExist) && flag == os.O_RDONLY: // the server of a network file system would be asked again
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
	}
	return openFile(name, flag, 0)
}

// create makes a file that is not there.
func create(name string, perm fs.FileMode) (File, error) {
	return openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
}

// ErrTooLong is in the chain of the error of ReadStream for what is longer than asked for.
var ErrTooLong = errors.New("the file is too long")

// ReadStream reads the whole of a file of the operating system, or of a pipe, of at most most
// bytes; of a longer one it returns the first most bytes, with ErrTooLong. A pipe that nobody has open for writing is empty.
func ReadStream(name string, most int64) ([]byte, error) {
	f, err := withRoom(func() (*os.File, error) {
		return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // or it would wait for a writer
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

// LFSPointer begins the small text that Git LFS keeps in the place of a large file.
const LFSPointer = "version https://git-lfs.github.com/spec/"

// IsPointer says that a file is a pointer of Git LFS, not the file itself.
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

// ByteOrderMark begins texts that some editors write. It is no part of the text.
const ByteOrderMark = "\ufeff"

// ReadText is ReadStream of a text that people write.
func ReadText(name string, most int64) ([]byte, error) {
	b, err := ReadStream(name, most)
	return bytes.TrimPrefix(b, []byte(ByteOrderMark)), err
}

// osFile adds to calls.File what it lacks. raw lends the descriptor for a system
// call and keeps a concurrent Close from recycling it meanwhile.
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

// pathError names the file, as the errors of package os do.
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

// system runs one system call on the descriptor, again when a signal interrupts it.
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

// Descriptors is what all pools of open files of this process share: half of what the system lets it have open (RLIMIT_NOFILE). The rest is for
// files that are open for a moment, for connections, and for the program that this is a library of.
var Descriptors = cache.NewBudget(openLimit() / 2)

// spareAtOnce is how many files are closed where one more cannot be opened.
const spareAtOnce = 16

// withRoom opens something; while the process has too many files open, it closes some that nobody uses.
func withRoom[T any](open func() (T, error)) (T, error) {
	for {
		v, err := open()
		if !fault.Exhausted(err) || !Descriptors.Spare(spareAtOnce) {
			return v, err
		}
	}
}
