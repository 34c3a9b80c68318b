package vfs

import (
	"errors"
	"fmt"
	"io/fs"
)

// Identity is a text that no other file has, nor the same file before it was last written to: device, inode, size and
// time of the last write, as far as the system has them.
func Identity(info fs.FileInfo) string {
	dev, ino, _ := identity(info)
	return fmt.Sprintf("%x.%x.%x.%x", dev, ino, info.Size(), info.ModTime().UnixNano())
}

// FileOf is the part of Identity that stays the same whatever is written to the file; "" where the system has no such numbers.
func FileOf(info fs.FileInfo) string {
	dev, ino, ok := identity(info)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%x.%x", dev, ino)
}

// Named reports whether an open file has this name, by which it was opened: the name may be gone by now, or another file may have it. On file systems of
// several machines, whose numbers of files do not always last, a file of the same length counts as the same.
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
	if !ok || !fsys.Local(name) {
		return true, nil
	}
	is, err := own.Stat()
	return err == nil && FileOf(is) == FileOf(at), err
}

// Links is how many names a file has (hard links), 1 where the system does not tell.
func Links(info fs.FileInfo) int { return max(linksOf(info), 1) }

// Owner is who owns a file, 0 and 0 where the system does not tell.
func Owner(info fs.FileInfo) (uid, gid uint32) {
	uid, gid, _ = ownerOf(info)
	return uid, gid
}
