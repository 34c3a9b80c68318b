package durable

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"blobio/internal/vfs"
)

// LeaseOptions of Acquire. The zero value means the defaults.
type LeaseOptions struct {
	Beat     time.Duration // between heartbeats, on file systems that machines share; default 5 s
	Patience time.Duration // how long a holder on another machine must be silent to count as dead; default 30 s
	Boot     string        // what tells this machine from others; default the start of its kernel
}

func (o LeaseOptions) withDefaults() LeaseOptions {
	if o.Beat <= 0 {
		o.Beat = 5 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	return o
}

// A Lease is the right to write to what has a name. Its methods may be called by any goroutine.
type Lease struct {
	fsys vfs.FS
	name string // of what is held
	lock string // of the lease's file
	me   Holder

	mu   sync.Mutex // of file, and for writing to it
	file vfs.File
	stop chan struct{} // ends the heartbeat; nil: none, or told already
	done chan struct{} // closed when it has ended; nil: there was none

	dead *Holder // from whom it was taken over
}

// tries bounds the attempts of Acquire to get a lease that keeps changing hands.
const tries = 100

// Acquire takes the lease of name, of a file or directory that need not be there. Its directory must be.
// One that somebody holds is an InUseError; that of a dead holder is taken over, for which
// Acquire waits on file systems that machines share (see the package comment), until ctx is done.
func Acquire(ctx context.Context, fsys vfs.FS, name string, o LeaseOptions) (*Lease, error) {
	l := &Lease{fsys: fsys, name: name, lock: LockName(name), me: me()}
	o = o.withDefaults()
	if o.Boot != "" {
		l.me.Boot = o.Boot
	}
	if _, err := fsys.Stat(filepath.Dir(name)); err != nil {
		return nil, err
	}
	for range tries {
		again, err := l.try(ctx, o)
		if err != nil {
			return nil, err
		}
		if !again {
			if !fsys.Local(name) {
				l.beat(o.Beat)
			}
			return l, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	h, _, err := holderOf(fsys, l.lock)
	return nil, errors.Join(&InUseError{Name: name, Holder: h}, err)
}

// try makes one attempt. again: somebody else changed the file meanwhile.
func (l *Lease) try(ctx context.Context, o LeaseOptions) (again bool, err error) {
	f, err := l.fsys.OpenRW(l.lock)
	made, foreign, shut := false, false, false
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = l.fsys.Create(l.lock); errors.Is(err, fs.ErrExist) {
			return true, nil
		}
		made = true
	} else if errors.Is(err, fs.ErrPermission) {
		// Another user's: it can be locked, and be replaced, by who may do so in its directory.
		if r, rerr := l.fsys.Open(l.lock); rerr == nil {
			f, err, foreign = r, nil, true
		}
	}
	if err != nil {
		return false, err
	}
	defer func() {
		if l.file == f {
			return
		}
		if made && err != nil && !errors.Is(vfs.Lock(f, true), vfs.ErrLocked) { // with the lock, nobody else is about to fill it
			if _, b, herr := holderOf(l.fsys, l.lock); herr == nil && b != nil && len(b) == 0 { // as we made it
				_ = l.fsys.Remove(l.lock) // the error before is the one to tell
			}
		}
		if !shut {
			err = errors.Join(err, f.Close())
		}
	}()
	local := l.fsys.Local(l.name)
	held, locked := l.exclude(f)
	if held != nil {
		h, _, herr := readHolder(f)
		if errors.Is(held, vfs.ErrLocked) {
			return false, errors.Join(&InUseError{Name: l.name, Holder: h}, herr)
		}
		return false, held
	}
	l.dead, l.me.Unsure = nil, false
	was, raw, err := readHolder(f)
	if err != nil {
		return false, err
	}
	fresh := made && len(raw) == 0 // who made an empty file may be about to fill it
	if !fresh {
		l.dead, l.me.Unsure = was, !local || !locked || was.elsewhere(&l.me) || was != nil && was.Unsure
	}
	if !fresh && !(locked && was.ended(&l.me, local)) {
		if again, err := l.watch(ctx, raw, o.Patience); again || err != nil {
			return again, err
		}
	}
	if !foreign && (locked && local && !l.me.Unsure || fresh) {
		if err := put(f, l.me.encode(), !local); err != nil {
			return false, errors.Join(err, removeLast(l.fsys, l.name, l.me.ID, f))
		}
		l.file = f
	} else {
		if !locked { // then it keeps nobody off, and on Windows no file that is open can be replaced
			shut = true
			if err := f.Close(); err != nil {
				return false, err
			}
		}
		if again, err = l.succeed(raw, was, locked); again || err != nil {
			return again, err
		}
	}
	// The name may have come to mean another file since it was opened.
	h, _, err := holderOf(l.fsys, l.lock)
	if err == nil && h != nil && h.ID == l.me.ID {
		if !fresh {
			err = l.sweep()
		}
		if err == nil {
			return false, nil
		}
	}
	if err != nil {
		_ = removeLast(l.fsys, l.name, l.me.ID, l.file) // the first error is the one to tell
	}
	if l.file != f {
		err = errors.Join(err, l.file.Close())
	}
	l.file = nil
	return true, err
}

// lockTries and lockPause are for the moments in which others look whether a lease is held, or a writer of several
// processes is about to end.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

// exclude locks f alone. Without locks the file alone says who holds the lease.
func (l *Lease) exclude(f vfs.File) (err error, locked bool) {
	for range lockTries {
		if err = vfs.Lock(f, true); !errors.Is(err, vfs.ErrLocked) {
			break
		}
		time.Sleep(lockPause)
	}
	if errors.Is(err, vfs.ErrNoLocks) {
		return nil, false
	}
	return err, err == nil
}

// put makes b the content of f, for others to read; shared: on any machine.
func put(f vfs.File, b []byte, shared bool) error {
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	err := f.Truncate(int64(len(b)))
	if err == nil && shared {
		err = f.Sync() // a lease need not outlive the machine, but a client of a network must send it
	}
	return err
}

// beat begins the heartbeat.
func (l *Lease) beat(every time.Duration) {
	stop, done := make(chan struct{}), make(chan struct{})
	l.stop, l.done = stop, done
	go func() {
		defer close(done)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-stop:
				return
			case <-t.C:
			}
			// An error of the file system is no loss: the next beat may come through, and Check decides.
			if err := l.Check(); errors.As(err, new(*InUseError)) {
				return
			}
			l.mu.Lock()
			l.me.Beat++
			_ = put(l.file, l.me.encode(), true)
			l.mu.Unlock()
		}
	}()
}

// ID returns the identity of this holder.
func (l *Lease) ID() string { return l.me.ID }

// Tag returns the identity in the form that is part of file names: see TagOf.
func (l *Lease) Tag() string { return TagOf(l.me.ID) }

// Dead returns from whom the lease was taken over, nil if from nobody that said who he is.
func (l *Lease) Dead() *Holder { return l.dead }

// Unsure says that the lease was taken over from a holder that may not be dead: what it had open it may still
// write to. That remains so for the next holder, until one has called Settle: Release then leaves the file.
func (l *Lease) Unsure() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.me.Unsure
}

// Settle says that whatever a former holder may have open is no part any more of what the lease is for.
func (l *Lease) Settle() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.me.Unsure {
		return nil
	}
	l.me.Unsure = false
	return put(l.file, l.me.encode(), true)
}

// Check returns an InUseError if the lease is no longer ours.
func (l *Lease) Check() error { return CheckHolder(l.fsys, l.name, l.me.ID) }

// CheckHolder returns an InUseError if the lease of name is not the holder's with that ID.
func CheckHolder(fsys vfs.FS, name, id string) error {
	h, _, err := holderOf(fsys, LockName(name))
	if err != nil || h != nil && h.ID == id {
		return err
	}
	return &InUseError{Name: name, Holder: h, Lost: true}
}

// Share lets other processes of the holder Join, so that the lease lasts as long as any of them lives.
func (l *Lease) Share() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return shareLock(l.file, l.name)
}

func shareLock(f vfs.File, name string) (err error) {
	for range lockTries {
		if err = vfs.Lock(f, false); !errors.Is(err, vfs.ErrLocked) {
			break
		}
		time.Sleep(lockPause)
	}
	switch {
	case errors.Is(err, vfs.ErrNoLocks):
		return nil
	case errors.Is(err, vfs.ErrLocked):
		h, _, herr := readHolder(f)
		return errors.Join(&InUseError{Name: name, Holder: h, Lost: true}, herr)
	}
	return err
}

// Release gives the lease back.
func (l *Lease) Release() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	stop, done := l.stop, l.done
	l.stop = nil // one of those who call it ends the heartbeat, and all wait for its end
	l.mu.Unlock()
	if stop != nil {
		close(stop)
	}
	if done != nil {
		<-done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	if errors.Is(vfs.Lock(f, true), vfs.ErrNoLocks) { // as on Windows, where no open file can be removed
		return errors.Join(f.Close(), removeOwn(l.fsys, l.name, l.me.ID))
	}
	return errors.Join(removeLast(l.fsys, l.name, l.me.ID, f), f.Close())
}

// removeLast removes the file of the lease, unless it is another holder's now, or other processes of this one live: the
// last of them does it.
func removeLast(fsys vfs.FS, name, id string, f vfs.File) error {
	if err := vfs.Lock(f, true); errors.Is(err, vfs.ErrLocked) {
		return nil
	} else if err != nil && !errors.Is(err, vfs.ErrNoLocks) {
		return err
	}
	return removeOwn(fsys, name, id)
}

func removeOwn(fsys vfs.FS, name, id string) error {
	h, _, err := holderOf(fsys, LockName(name))
	if err != nil || h == nil || h.ID != id || h.Unsure {
		return err
	}
	if err = fsys.Remove(LockName(name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// A Member is another process's part in a lease.
type Member struct {
	fsys     vfs.FS
	name, id string
	file     vfs.File
}

// Join makes this process part of the lease of name with that ID, whose holder has called Share.
func Join(fsys vfs.FS, name, id string) (*Member, error) {
	m := &Member{fsys: fsys, name: name, id: id}
	f, err := fsys.Open(LockName(name))
	if err != nil {
		return nil, err
	}
	if err = shareLock(f, name); err == nil {
		err = m.Check()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m.file = f
	return m, nil
}

// Check is that of Lease.
func (m *Member) Check() error { return CheckHolder(m.fsys, m.name, m.id) }

// Leave ends the part.
func (m *Member) Leave() error {
	if m == nil || m.file == nil {
		return nil
	}
	err := vfs.Lock(m.file, true)
	switch {
	case err == nil: // the last
		err = removeOwn(m.fsys, m.name, m.id)
	case errors.Is(err, vfs.ErrLocked), errors.Is(err, vfs.ErrNoLocks): // others are there, or only the holder knows
		err = nil
	}
	err = errors.Join(err, m.file.Close())
	m.file = nil
	return err
}
