package vfs

import "errors"

// Classes of the errors of Lock.
var (
	// ErrLocked: another open file has a conflicting lock.
	ErrLocked = errors.New("locked by another process")
	// ErrNoLocks: the file system has no locks.
	ErrNoLocks = errors.New("the file system has no file locks")
)

// Locker is an optional interface of a File: advisory locks as in flock(2). A lock belongs to the open file, not to the process.
// It ends with Close or with the process.
type Locker interface {
	// Lock takes an exclusive or a shared lock. This lock replaces a lock that the open file already has. It never waits.
	// ErrLocked means that another open file has a conflicting lock. ErrNoLocks means that the file system has no locks.
	Lock(exclusive bool) error
}

// Lock locks an open file. It returns ErrNoLocks if f does not implement Locker.
func Lock(f File, exclusive bool) error {
	if l, ok := f.(Locker); ok {
		return l.Lock(exclusive)
	}
	return perr("lock", f.Name(), ErrNoLocks)
}

// Lock implements Locker.
func (f *memFile) Lock(exclusive bool) error {
	if err := f.check("lock", false, 0, 0); err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	for o, ex := range f.n.locks {
		if o != f && (ex || exclusive) {
			return perr("lock", f.name, ErrLocked)
		}
	}
	if f.n.locks == nil {
		f.n.locks = map[*memFile]bool{}
	}
	f.n.locks[f] = exclusive
	return nil
}

// Local implements FS.
func (m *Mem) Local(string) bool { return true }

// Local implements FS.
func (f *faultFS) Local(name string) bool { return f.under.Local(name) }

// Lock implements Locker.
func (f *faultFile) Lock(exclusive bool) error {
	return f.fs.do(Op{Kind: OpLock, Name: f.Name()}, func() error { return Lock(f.under, exclusive) })
}

// Lock implements Locker.
func (f noSyncFile) Lock(exclusive bool) error { return Lock(f.File, exclusive) }

// Local implements FS.
func (b *BindFS) Local(name string) bool { return b.under.Local(b.Real(name)) }

// Lock implements Locker.
func (f boundFile) Lock(exclusive bool) error { return Lock(f.File, exclusive) }

// Lock implements Locker.
func (f boundSysFile) Lock(exclusive bool) error { return Lock(f.sysFile, exclusive) }
