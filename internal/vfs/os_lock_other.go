//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package vfs

// Lock implements Locker.
func (f *osFile) Lock(bool) error { return f.pathError("lock", ErrNoLocks) }
