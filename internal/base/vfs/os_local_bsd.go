//go:build darwin || freebsd || dragonfly

package vfs

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Local implements FS.
func (osFS) Local(name string) bool {
	var st unix.Statfs_t
	return unix.Statfs(filepath.Dir(name), &st) == nil && st.Flags&unix.MNT_LOCAL != 0
}

// BootID identifies the boot of this machine; "" if unknown.
func BootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid") // darwin
	if err != nil {
		return ""
	}
	return id
}
