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
