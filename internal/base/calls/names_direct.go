//go:build (linux && !(cgo && (mpi || libc))) || darwin || freebsd || netbsd || openbsd || dragonfly

package calls

import "golang.org/x/sys/unix"

func rename(from, to string) error { return unix.Rename(from, to) }

func unlink(name string) error { return unix.Unlink(name) }
