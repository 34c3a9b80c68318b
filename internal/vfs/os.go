package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// OS is the file system of the operating system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) Create(name string) (File, error) {
	return wrap(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666))
}
func (osFS) Open(name string) (File, error)             { return wrap(os.Open(name)) }
func (osFS) OpenRW(name string) (File, error)           { return wrap(os.OpenFile(name, os.O_RDWR, 0)) }
func (osFS) Rename(oldname, newname string) error       { return os.Rename(oldname, newname) }
func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Mkdir(name string) error                    { return os.Mkdir(name, 0o777) }
func (osFS) MkdirAll(name string) error                 { return os.MkdirAll(name, 0o777) }
func (osFS) SyncDir(name string) error                  { return syncDir(name) }

// osFile adds to os.File what it lacks. raw lends the descriptor for a system
// call and keeps a concurrent Close from recycling it meanwhile.
type osFile struct {
	*os.File
	raw syscall.RawConn
}

func wrap(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &osFile{f, raw}, nil
}

func (f *osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

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
