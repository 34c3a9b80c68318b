//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package kvtree

// fcntlLock is not there: locks of open file descriptions are linux's.
func fcntlLock(uintptr, bool) error { return ErrNoLocks }
