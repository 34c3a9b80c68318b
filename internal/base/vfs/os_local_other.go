//go:build !(linux || darwin || freebsd || dragonfly)

package vfs

// Local implements FS. It returns false because the file system is unknown here.
func (osFS) Local(string) bool { return false }

// BootID identifies the boot of this machine, which is unknown here.
func BootID() string { return "" }
