package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Outside is how another process of this machine finds a file: by its name, and by what tells the file of that name from all others.
type Outside struct {
	Name     string // absolute
	Dev, Ino uint64
	NoSync   bool // syncs do nothing in the file system that it was asked of
}

// OutsideOf returns it for a file that is there, not a link. ok is false where the operations have to go through fsys, as it is not
// that of the operating system, or where the system does not tell files apart.
func OutsideOf(fsys FS, name string) (o Outside, ok bool) {
	for {
		switch f := fsys.(type) {
		case *noSyncFS:
			fsys, o.NoSync = f.FS, true
			continue
		case *BindFS:
			fsys, name = f.under, f.Real(name)
			continue
		case osFS:
		default:
			return o, false
		}
		break
	}
	var err error
	if o.Name, err = filepath.Abs(name); err != nil {
		return o, false
	}
	info, err := os.Lstat(o.Name)
	if err != nil {
		return o, false
	}
	o.Dev, o.Ino, ok = identity(info)
	return o, ok && info.Mode().IsRegular()
}

// Open opens the file for reading, or for both: the very file, or fs.ErrNotExist if the name is another's now.
func (o Outside) Open(write bool) (File, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	f, err := openSeekable(o.Name, flag)
	if err != nil {
		return nil, err
	}
	info, err := f.(*osFile).Stat()
	if err == nil {
		if dev, ino, ok := identity(info); !ok || dev != o.Dev || ino != o.Ino {
			err = &fs.PathError{Op: "open", Path: o.Name, Err: fs.ErrNotExist}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if o.NoSync {
		f = noSyncFile{f}
	}
	return f, nil
}
