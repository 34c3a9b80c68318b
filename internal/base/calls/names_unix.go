//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package calls

import (
	"io/fs"
	"os"
	"syscall"
)

// Rename is os.Rename without its check of the new name, which costs a message on a network file system. The check is not
// needed for a file, because the kernel refuses to replace a directory with a file. Directories are left to os.Rename,
// because the kernel would replace an empty directory with a directory.
func Rename(oldname, newname string) error {
	if info, err := os.Lstat(oldname); err != nil || info.IsDir() {
		return os.Rename(oldname, newname)
	}
	return RenameFile(oldname, newname)
}

// RenameFile is Rename without the check that oldname is not a directory.
func RenameFile(oldname, newname string) error {
	switch err := again(func() error { return rename(oldname, newname) }); err {
	case nil:
		return nil
	case syscall.EISDIR, syscall.EEXIST, syscall.ENOTEMPTY:
		return os.Rename(oldname, newname) // returns the error of package os
	default:
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: err}
	}
}

// Remove is os.Remove without its second attempt for a missing file. It leaves directories to os.Remove.
func Remove(name string) error {
	switch err := again(func() error { return unlink(name) }); err {
	case nil:
		return nil
	case syscall.EISDIR, syscall.EPERM:
		return os.Remove(name)
	default:
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
}

// again repeats a call while signals interrupt it.
func again(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
