//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package calls

import (
	"io/fs"
	"os"
	"syscall"
)

// Rename is os.Rename without its look at the new name: on a network file system each look is a message, and the kernel refuses by itself to put a
// file in the place of a directory. It would put a directory in the place of an empty one, which os.Rename refuses.
func Rename(oldname, newname string) error {
	if info, err := os.Lstat(oldname); err != nil || info.IsDir() {
		return os.Rename(oldname, newname)
	}
	return RenameFile(oldname, newname)
}

// RenameFile is Rename of what is no directory, which saves a look at it.
func RenameFile(oldname, newname string) error {
	switch err := again(func() error { return rename(oldname, newname) }); err {
	case nil:
		return nil
	case syscall.EISDIR, syscall.EEXIST, syscall.ENOTEMPTY:
		return os.Rename(oldname, newname) // for its error
	default:
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: err}
	}
}

// Remove is os.Remove, which tries twice to remove what is not there. Directories are left to it.
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

// again makes a call until no signal interrupts it.
func again(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
