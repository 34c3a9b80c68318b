package vfs

import (
	"fmt"
	"io/fs"
)

// Identity is a text that tells a file, with its content, from others and from what it was before it was written to: device, inode, size and
// time of the last write, as far as the system has them.
func Identity(info fs.FileInfo) string {
	dev, ino, _ := identity(info)
	return fmt.Sprintf("%x.%x.%x.%x", dev, ino, info.Size(), info.ModTime().UnixNano())
}

// FileOf is the part of Identity that tells a file from others, whatever is written to it; "" where the system has no such numbers.
func FileOf(info fs.FileInfo) string {
	dev, ino, ok := identity(info)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%x.%x", dev, ino)
}

// Owner is who owns a file, 0 and 0 where the system does not tell.
func Owner(info fs.FileInfo) (uid, gid uint32) {
	uid, gid, _ = ownerOf(info)
	return uid, gid
}
