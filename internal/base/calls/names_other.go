//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package calls

import "os"

// Rename is os.Rename.
func Rename(oldname, newname string) error { return os.Rename(oldname, newname) }

// RenameFile is Rename for a file that is not a directory.
func RenameFile(oldname, newname string) error { return os.Rename(oldname, newname) }

// Remove is os.Remove.
func Remove(name string) error { return os.Remove(name) }
