//go:build !(linux || darwin || freebsd || dragonfly)

package vfs

// Local implements FS: what is under a name is not known here.
func (osFS) Local(string) bool { return false }

// BootID names the start of this machine's kernel: it is not known here.
func BootID() string { return "" }
