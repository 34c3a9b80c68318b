//go:build !windows && !plan9 && !js && !wasip1

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"blobio/internal/base/calls"
)

func syncDir(name string) error {
	d, err := calls.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = d.Sync()
	// Some network and user-space file systems cannot sync a directory. The entries of a directory need no sync there.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EBADF) {
		err = nil
	}
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}

// noFollow makes opening a link fail.
const noFollow = syscall.O_NOFOLLOW

// nonBlock makes an open return at once.
const nonBlock = syscall.O_NONBLOCK

// ownerOf returns the owner of a file, if known.
func ownerOf(info fs.FileInfo) (uid, gid uint32, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return s.Uid, s.Gid, true
}

func linksOf(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}

func effectiveUser() uint32 { return uint32(os.Geteuid()) }

// identity returns numbers that no other file of the machine has.
func identity(info fs.FileInfo) (dev, ino uint64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(s.Dev), uint64(s.Ino), true
}
