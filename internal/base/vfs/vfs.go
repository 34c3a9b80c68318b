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

// ErrNoSpace is in the chain of errors of a full disk (or of a full Mem).
var ErrNoSpace error = syscall.ENOSPC

// Full says of an error that space was lacking, of the file system or within a quota.
func Full(err error) bool { return errors.Is(err, ErrNoSpace) || errors.Is(err, syscall.EDQUOT) }

// ErrStale is in the chain of errors of an open file that another client of a network file system has removed.
var ErrStale error = syscall.ESTALE

const (
	staleTries = 60
	stalePause = 30 * time.Millisecond
)

// Again calls open, which opens a name and reads from it, until it fails for another reason than that the file is gone: a client of a network
// file system knows a name for a moment, most a second, after another client has put another file in its place. read is its error of
// anything but the opening.
func Again(open func() (read, err error)) error {
	for n := 1; ; n++ {
		read, err := open()
		if n == staleTries || !errors.Is(read, ErrStale) && !errors.Is(read, fs.ErrNotExist) {
			return errors.Join(err, read)
		}
		time.Sleep(stalePause)
	}
}

// ErrPipe is in the chain of the error of opening a pipe or a socket.
var ErrPipe = errors.New("found a pipe or a socket, want a file")

// File is an open file. Reads and writes are positional; there is no file
// pointer, so any number of goroutines may use one File at once.
type File interface {
	io.ReaderAt // io.EOF where the file ends before the buffer is full
	io.WriterAt // extends the file; bytes never written read as zero

	// WritevAt writes all bufs back to back, from byte off on. It returns the number
	// of bytes written; fewer than all only with an error. The slice headers
	// in bufs are left as they are.
	WritevAt(bufs [][]byte, off int64) (int64, error)
	// Size is the current size in bytes.
	Size() (int64, error)
	// Truncate sets the size in bytes; what is added reads as zero.
	Truncate(size int64) error
	// Allocate reserves space for bytes [off, off+n), without changing the size. It
	// does nothing where the file system cannot; a full disk is ErrNoSpace.
	Allocate(off, n int64) error
	// Sync returns when content and size are durable.
	Sync() error
	// Close releases the handle. It does not make anything durable.
	Close() error
	// Name is the name that the file was opened by.
	Name() string
}

// FS is a file system. Its methods are safe for concurrent use.
type FS interface {
	Create(name string) (File, error)           // read and write; fs.ErrExist if the name is there, as a link too
	Open(name string) (File, error)             // read only
	OpenRW(name string) (File, error)           // read and write; must exist, and be no symbolic link
	Rename(oldname, newname string) error       // atomically replaces a file at newname
	Remove(name string) error                   // a file, or an empty directory
	Stat(name string) (fs.FileInfo, error)      //
	ReadDir(name string) ([]fs.DirEntry, error) // sorted by name
	Mkdir(name string) error                    // one level; fs.ErrExist if the name is there
	MkdirAll(name string) error                 // with parents; nil if it is a directory already
	SyncDir(name string) error                  // returns when the entries of the directory are durable

	// Local says that no other machine can write to the directory of name, so that a lock
	// excludes everybody and ends when its holder does. Where that is not certain it is false.
	Local(name string) bool
}

// OrOS is fsys, or OS if it is nil: whatever takes a file system takes nil as the operating system's.
func OrOS(fsys FS) FS {
	if fsys == nil {
		return OS
	}
	return fsys
}

// OpenOwn opens for reading what only programs like this one make. Of the operating system's files it follows no link, and takes
// one call.
func OpenOwn(fsys FS, name string) (File, error) {
	if _, ok := OrOS(fsys).(osFS); ok {
		return openSeekable(name, os.O_RDONLY)
	}
	return fsys.Open(name)
}

// ReadFile returns the whole content of a file of at most limit bytes; a longer
// one is an error before anything is read.
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

// WriteFile creates a file (the name must be new) with this content, syncs and
// closes it. The name itself is durable only after SyncDir of its directory.
// A file that could not be completed is removed.
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
		_ = fsys.Remove(name) // the first error is the one to tell
	}
	return err
}

// SyncParent makes the entry of name durable: SyncDir of the directory it is in.
func SyncParent(fsys FS, name string) error { return fsys.SyncDir(filepath.Dir(name)) }

// RemoveAll removes a file, or a directory with all that is in it; links are removed and not followed. A name that is not there is no
// error.
func RemoveAll(fsys FS, name string) error {
	if _, ok := fsys.(osFS); ok {
		return os.RemoveAll(name) // safe from who puts a link in the place of a directory meanwhile
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
