//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package vfs

import "os"

func rename(from, to string) error { return os.Rename(from, to) }
func remove(name string) error     { return os.Remove(name) }
