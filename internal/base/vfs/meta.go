package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Meta has the metadata of a file, except its name.
type Meta struct {
	Size  int64  // size in bytes; SetMeta does not change it
	Mode  uint32 // POSIX st_mode: ModeRegular and the permission bits
	UID   uint32
	GID   uint32
	Atime time.Time
	Ctime time.Time // cannot be set on any system
	Mtime time.Time
}

// ModeRegular is S_IFREG, the type of a regular file in Meta.Mode.
const ModeRegular = 0o100000

// Bits of st_mode besides the permissions.
const (
	modeSetuid = 0o4000
	modeSetgid = 0o2000
	modeSticky = 0o1000
)

// MetaFS is an optional interface of an FS. OS and Mem implement it. The wrappers of this package implement it if the underlying
// file system does.
type MetaFS interface {
	FileMeta(name string) (Meta, error)    // metadata of a regular file
	SetFileMeta(name string, m Meta) error // sets permissions, times, and the owner if the process may
}

// MetaOf returns the metadata of a regular file. If fsys does not implement MetaFS, MetaOf uses Stat. The owners are then 0, and
// all times are equal.
func MetaOf(fsys FS, name string) (Meta, error) {
	if m, ok := fsys.(MetaFS); ok {
		return m.FileMeta(name)
	}
	st, err := fsys.Stat(name)
	if err != nil {
		return Meta{}, err
	}
	return metaOf(name, st)
}

// SetMeta sets permissions, times, and the owner of a file if the process may. It does nothing if fsys does not implement
// MetaFS.
func SetMeta(fsys FS, name string, m Meta) error {
	if mfs, ok := fsys.(MetaFS); ok {
		return mfs.SetFileMeta(name, m)
	}
	return nil
}

func metaOf(name string, st fs.FileInfo) (Meta, error) {
	if !st.Mode().IsRegular() {
		return Meta{}, perr("meta", name, fs.ErrInvalid)
	}
	m := Meta{Size: st.Size(), Mode: ModeRegular | uint32(st.Mode().Perm()), Mtime: st.ModTime()}
	if st.Mode()&fs.ModeSetuid != 0 {
		m.Mode |= modeSetuid
	}
	if st.Mode()&fs.ModeSetgid != 0 {
		m.Mode |= modeSetgid
	}
	if st.Mode()&fs.ModeSticky != 0 {
		m.Mode |= modeSticky
	}
	m.Atime, m.Ctime = m.Mtime, m.Mtime
	sysMeta(&m, st)
	return m, nil
}

// fileMode returns the mode in the bits of package fs.
func (m Meta) fileMode() fs.FileMode {
	mode := fs.FileMode(m.Mode & 0o777)
	if m.Mode&modeSetuid != 0 {
		mode |= fs.ModeSetuid
	}
	if m.Mode&modeSetgid != 0 {
		mode |= fs.ModeSetgid
	}
	if m.Mode&modeSticky != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// FileMeta implements MetaFS.
func (osFS) FileMeta(name string) (Meta, error) {
	st, err := os.Stat(name)
	if err != nil {
		return Meta{}, err
	}
	return metaOf(name, st)
}

// SetFileMeta implements MetaFS. If the owner could not be set, it omits the setuid and setgid bits.
func (osFS) SetFileMeta(name string, m Meta) error {
	if err := os.Lchown(name, int(m.UID), int(m.GID)); err != nil {
		m.Mode &^= modeSetuid | modeSetgid
	}
	if err := os.Chmod(name, m.fileMode()); err != nil {
		return err
	}
	return os.Chtimes(name, m.Atime, m.Mtime)
}

// FileMeta implements MetaFS.
func (m *Mem) FileMeta(name string) (Meta, error) {
	st, err := m.Stat(name)
	if err != nil {
		return Meta{}, err
	}
	return metaOf(name, st)
}

// SetFileMeta implements MetaFS. A power loss undoes it.
func (m *Mem) SetFileMeta(name string, meta Meta) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.walk(split(name))
	if err == nil && n.dir {
		err = syscall.EISDIR
	}
	if err != nil {
		return perr("setmeta", name, err)
	}
	n.mtime.Store(meta.Mtime.UnixNano())
	n.meta.Store(&meta)
	return nil
}

// FileMeta implements MetaFS.
func (f *faultFS) FileMeta(name string) (Meta, error) {
	return asked(f, Op{Kind: OpStat, Name: name}, func() (Meta, error) { return MetaOf(f.under, name) })
}

// SetFileMeta implements MetaFS.
func (f *faultFS) SetFileMeta(name string, m Meta) error {
	return f.do(Op{Kind: OpSetMeta, Name: name}, func() error { return SetMeta(f.under, name, m) })
}

// Identity returns a text that differs between files and changes with each write: device, inode, size and modification time, as
// far as the system has them.
func Identity(info fs.FileInfo) string {
	dev, ino, _ := identity(info)
	return fmt.Sprintf("%x.%x.%x.%x", dev, ino, info.Size(), info.ModTime().UnixNano())
}

// FileOf returns the part of Identity that writes do not change, or "" if the system has no numbers for files.
func FileOf(info fs.FileInfo) string {
	dev, ino, ok := identity(info)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%x.%x", dev, ino)
}

// Named reports whether an open file still has the name with which it was opened. The name may be gone or refer to another file.
// On shared file systems, where file numbers may change, a file of the same length counts as the same.
func Named(fsys FS, f File, name string) (bool, error) {
	at, err := fsys.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if size, err := f.Size(); err != nil || size != at.Size() {
		return false, err
	}
	own, ok := f.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return true, nil
	}
	is, err := own.Stat()
	if err == nil && FileOf(is) == FileOf(at) || !fsys.Local(name) { // Local is slow
		return true, nil
	}
	return false, err
}

// Links returns the number of a file's names (hard links), or 1 if unknown.
func Links(info fs.FileInfo) int { return max(linksOf(info), 1) }

// Owner returns the owner and group of a file, or 0 and 0 if unknown.
func Owner(info fs.FileInfo) (uid, gid uint32) {
	uid, gid, _ = ownerOf(info)
	return uid, gid
}
