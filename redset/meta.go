package redset

import (
	"io/fs"
	"os"
	"time"

	"blobio/internal/vfs"
)

// Meta is what a header keeps of a file besides its bytes.
type Meta struct {
	Size  int64  // bytes
	Mode  uint32 // as st_mode of POSIX: 0100000 for a regular file, and the permission bits
	UID   uint32
	GID   uint32
	Atime time.Time
	Ctime time.Time // kept, but no system lets it be set
	Mtime time.Time
}

// modeRegular is S_IFREG.
const modeRegular = 0o100000

// MetaFS is what a vfs.FS may implement to keep the metadata of files. Without it
// (vfs.OS needs none) the size, permissions and modification time that Stat tells are
// recorded, and nothing but the bytes is restored.
type MetaFS interface {
	FileMeta(name string) (Meta, error)
	SetFileMeta(name string, m Meta) error
}

// statMeta returns the metadata of a file. Something that is not a regular file is an error.
func statMeta(fsys vfs.FS, name string) (Meta, error) {
	if mfs, ok := fsys.(MetaFS); ok {
		return mfs.FileMeta(name)
	}
	st, err := fsys.Stat(name)
	if err != nil {
		return Meta{}, err
	}
	if !st.Mode().IsRegular() {
		return Meta{}, &fs.PathError{Op: "redset", Path: name, Err: fs.ErrInvalid}
	}
	m := Meta{Size: st.Size(), Mode: modeRegular | uint32(st.Mode().Perm()), Mtime: st.ModTime()}
	for bit, posix := range map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if st.Mode()&bit != 0 {
			m.Mode |= posix
		}
	}
	m.Atime, m.Ctime = m.Mtime, m.Mtime
	sysMeta(&m, st)
	return m, nil
}

// setMeta gives a file the metadata. The owner is set where the process may.
func setMeta(fsys vfs.FS, name string, m Meta) error {
	if mfs, ok := fsys.(MetaFS); ok {
		return mfs.SetFileMeta(name, m)
	}
	if fsys != vfs.OS {
		return nil
	}
	_ = os.Lchown(name, int(m.UID), int(m.GID)) // not privileged, or no such thing: the bytes count
	mode := fs.FileMode(m.Mode & 0o777)
	if m.Mode&0o4000 != 0 {
		mode |= fs.ModeSetuid
	}
	if m.Mode&0o2000 != 0 {
		mode |= fs.ModeSetgid
	}
	if m.Mode&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	if err := os.Chmod(name, mode); err != nil {
		return err
	}
	return os.Chtimes(name, m.Atime, m.Mtime)
}
