//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package kvtree

// lock is not there: the programs of the reference do not run here, and no kind of lock is theirs.
func lock(uintptr, LockKind, bool) error { return ErrNoLocks }
