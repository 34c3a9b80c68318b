package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Root is a read-only view of one directory of the operating system. No name leads out of the directory. A name is the
// directory or below it. A symbolic link is followed only if its target is in the directory. Every call with a name outside
// of the directory fails, even if a directory is replaced by a link during the call.
type Root struct {
	dir     string // absolute path
	root    *os.Root
	outside error // error of package os for a name outside the directory
}

// ErrOutside is in the error chain for names outside a Root.
var ErrOutside = errors.New("path is outside the directory")

// NewRoot opens a directory. Close must be called.
func NewRoot(dir string) (*Root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	r := &Root{dir: abs, root: root}
	_, err = root.Lstat("../" + filepath.Base(abs))
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		r.outside = pe.Err
	}
	return r, nil
}

// Close closes the directory. Open files stay open.
func (r *Root) Close() error { return r.root.Close() }

// Dir returns the absolute name of the directory.
func (r *Root) Dir() string { return r.dir }

// rel returns a name relative to the directory.
func (r *Root) rel(op, name string) (string, error) {
	rest, ok := strings.CutPrefix(filepath.Clean(name), r.dir)
	switch {
	case ok && rest == "":
		return ".", nil
	case ok && os.IsPathSeparator(rest[0]):
		return rest[1:], nil
	case ok && os.IsPathSeparator(r.dir[len(r.dir)-1]): // the directory is "/"
		return rest, nil
	}
	return "", &fs.PathError{Op: op, Path: name, Err: ErrOutside}
}

// under calls call with a name relative to the directory. Errors have the requested name.
func under[T any](r *Root, op, name string, call func(rel string) (T, error)) (v T, err error) {
	rel, err := r.rel(op, name)
	if err != nil {
		return v, err
	}
	v, err = withRoom(func() (T, error) { return call(rel) })
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		if pe.Err == r.outside {
			pe.Err = ErrOutside
		}
		err = &fs.PathError{Op: op, Path: name, Err: pe.Err}
	}
	return v, err
}

// Open implements FS. It refuses a file without offsets, such as a pipe, and does not wait for a pipe's writer.
func (r *Root) Open(name string) (File, error) {
	f, err := under(r, "open", name, func(rel string) (*os.File, error) {
		f, err := r.root.OpenFile(rel, os.O_RDONLY|nonBlock, 0)
		if errors.Is(err, syscall.EAGAIN) { // the file is delegated to a network client, which must return the delegation first
			f, err = r.root.OpenFile(rel, os.O_RDONLY, 0)
		}
		return f, err
	})
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrPipe}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return rootFile{f}, nil
}

// Stat implements FS.
func (r *Root) Stat(name string) (fs.FileInfo, error) { return under(r, "stat", name, r.root.Stat) }

// Lstat implements OwnerFS.
func (r *Root) Lstat(name string) (fs.FileInfo, error) { return under(r, "lstat", name, r.root.Lstat) }

// ReadDir implements FS. Info of an entry looks up the name at the time of the call, so use Lstat instead.
func (r *Root) ReadDir(name string) ([]fs.DirEntry, error) {
	return under(r, "readdir", name, func(rel string) ([]fs.DirEntry, error) {
		f, err := r.root.OpenFile(rel, os.O_RDONLY|nonBlock, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		list, err := f.ReadDir(-1)
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		return list, err
	})
}

// Local implements FS.
func (r *Root) Local(name string) bool { return OS.Local(name) }

// readOnly returns the error of a changing call.
func readOnly(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: errReadOnly} }

// errReadOnly is in the error chain of changing calls in a Root.
var errReadOnly error = syscall.EROFS

// Create fails, like all other methods that change something.
func (r *Root) Create(name string) (File, error) { return nil, readOnly("create", name) }
func (r *Root) CreateMode(name string, _ fs.FileMode) (File, error) {
	return nil, readOnly("create", name)
}
func (r *Root) OpenRW(name string) (File, error)           { return nil, readOnly("open", name) }
func (r *Root) Rename(oldname, _ string) error             { return readOnly("rename", oldname) }
func (r *Root) Remove(name string) error                   { return readOnly("remove", name) }
func (r *Root) Mkdir(name string) error                    { return readOnly("mkdir", name) }
func (r *Root) MkdirMode(name string, _ fs.FileMode) error { return readOnly("mkdir", name) }
func (r *Root) MkdirAll(name string) error                 { return readOnly("mkdir", name) }
func (r *Root) SyncDir(name string) error                  { return readOnly("sync", name) }

// rootFile is a file open for reading.
type rootFile struct {
	*os.File
}

// Lock implements Locker. Readers use it to check for locks of other processes.
func (f rootFile) Lock(exclusive bool) error { return lockFile(f.File, exclusive) }

func (f rootFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f rootFile) WriteAt([]byte, int64) (int, error)      { return 0, readOnly("write", f.Name()) }
func (f rootFile) WritevAt([][]byte, int64) (int64, error) { return 0, readOnly("write", f.Name()) }
func (f rootFile) Truncate(int64) error                    { return readOnly("truncate", f.Name()) }
func (f rootFile) Allocate(_, _ int64) error               { return readOnly("allocate", f.Name()) }
