package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrNoSpace is in the error chain for a full disk or a full Mem.
var ErrNoSpace error = syscall.ENOSPC

// Full reports whether an error means that the file system or a quota is full.
func Full(err error) bool { return errors.Is(err, ErrNoSpace) || errors.Is(err, syscall.EDQUOT) }

// ErrStale is in the error chain for an open file that another client of a network file system has removed.
var ErrStale error = syscall.ESTALE

const (
	staleTries = 60
	stalePause = 30 * time.Millisecond
)

// Again calls open, which opens and reads a named file, and repeats the call while open fails because the file is gone. For up to
// a second, a network client may find the former file of a name that another client has replaced. The first error of open is the
// error of the steps after the opening.
func Again(open func() (read, err error)) error {
	for n := 1; ; n++ {
		read, err := open()
		if n == staleTries || !errors.Is(read, ErrStale) && !errors.Is(read, fs.ErrNotExist) {
			return errors.Join(err, read)
		}
		time.Sleep(stalePause)
	}
}

// ErrPipe is in the error chain for opening a pipe or a socket.
var ErrPipe = errors.New("found a pipe or a socket, want a file")

// File is an open file. Reads and writes have offsets and there is no file pointer, so several goroutines may use a File at once.
type File interface {
	io.ReaderAt // io.EOF if the file ends before the buffer is full
	io.WriterAt // extends the file; unwritten bytes are zero

	// WritevAt writes all bufs in sequence, from byte off. It returns the number of bytes written, which is less than the total only
	// with an error. It does not change the slices in bufs.
	WritevAt(bufs [][]byte, off int64) (int64, error)
	// Size returns the current size in bytes.
	Size() (int64, error)
	// Truncate sets the size in bytes. Added bytes are zero.
	Truncate(size int64) error
	// Allocate reserves space for bytes [off, off+n) without changing the size. It does nothing if the file system cannot reserve. A
	// full disk is ErrNoSpace.
	Allocate(off, n int64) error
	// Sync returns when content and size are durable.
	Sync() error
	// Close releases the handle. It does not make anything durable.
	Close() error
	// Name returns the name with which the file was opened.
	Name() string
}

// FS is a file system. Its methods are safe for concurrent use.
type FS interface {
	Create(name string) (File, error)           // read and write; fs.ErrExist if the name exists, even as a link
	Open(name string) (File, error)             // read only
	OpenRW(name string) (File, error)           // read and write; the file must exist and be no symbolic link
	Rename(oldname, newname string) error       // atomically replaces an existing file newname
	Remove(name string) error                   // removes a file or an empty directory
	Stat(name string) (fs.FileInfo, error)      //
	ReadDir(name string) ([]fs.DirEntry, error) // sorted by name
	Mkdir(name string) error                    // one level; fs.ErrExist if the name exists
	MkdirAll(name string) error                 // with parents; nil if the directory exists
	SyncDir(name string) error                  // returns when the entries of the directory are durable

	// Local reports whether only this machine can write to the directory of name. Then a lock excludes all other processes and
	// ends with its holder. If this is not certain, Local returns false.
	Local(name string) bool
}

// OrOS returns fsys, or OS if fsys is nil.
func OrOS(fsys FS) FS {
	if fsys == nil {
		return OS
	}
	return fsys
}

// InMemory reports whether a file is known to be on a file system in memory, where a sync takes no time.
func InMemory(f File) bool {
	o, ok := f.(*osFile)
	return ok && o.inMemory()
}

// OpenOwn opens a file that blobio made for reading. On OS it follows no link and takes one system call.
func OpenOwn(fsys FS, name string) (File, error) {
	if _, ok := OrOS(fsys).(osFS); ok {
		return openSeekable(name, os.O_RDONLY)
	}
	return fsys.Open(name)
}

// ReadFile returns the content of a file of at most limit bytes. If the file is longer, ReadFile returns an error before reading.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EFBIG}
	}
	b := make([]byte, n)
	if k, err := f.ReadAt(b, 0); int64(k) < n {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return b, nil
}

// Begins reports whether a file exists and begins with a text.
func Begins(fsys FS, name, text string) (bool, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := make([]byte, len(text))
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return string(b[:n]) == text, nil
}

// WriteFile creates a new file with this content, syncs and closes it. The name is durable only after SyncDir of its directory.
// WriteFile removes a file that it cannot complete.
func WriteFile(fsys FS, name string, data []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = fsys.Remove(name) // the first error is returned
	}
	return err
}

// SyncParent calls SyncDir for the directory of name, so that the name is durable.
func SyncParent(fsys FS, name string) error { return fsys.SyncDir(filepath.Dir(name)) }

// RemoveAll removes a file, or a directory with its contents. It removes links without following them. A missing name is no
// error.
func RemoveAll(fsys FS, name string) error {
	switch fsys := fsys.(type) {
	case osFS:
		return os.RemoveAll(name) // safe if a directory is replaced by a link meanwhile
	case *BindFS: // a listing does not have the binds below name
		return RemoveAll(fsys.under, fsys.Real(name))
	case *noSyncFS:
		return RemoveAll(fsys.FS, name)
	}
	info, err := Lstat(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		list, err := fsys.ReadDir(name)
		for _, e := range list {
			err = errors.Join(err, RemoveAll(fsys, filepath.Join(name, e.Name())))
		}
		if err != nil {
			return err
		}
	}
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
