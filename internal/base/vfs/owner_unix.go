//go:build !windows && !plan9 && !js && !wasip1

package vfs

import (
	"io/fs"
	"os"
	"syscall"
)

// noFollow makes an open of a link fail.
const noFollow = syscall.O_NOFOLLOW

// nonBlock makes an open wait for nobody.
const nonBlock = syscall.O_NONBLOCK

// ownerOf returns who owns a file, if the system's own record says so.
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

// identity returns the numbers that no other file of the machine has.
func identity(info fs.FileInfo) (dev, ino uint64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(s.Dev), uint64(s.Ino), true
}
