package durable

import (
	"errors"
	"io/fs"
	"sync"
	"time"

	"blobio/internal/base/vfs"
)

// LeaseOptions of Acquire. The zero value means the defaults.
type LeaseOptions struct {
	Period   time.Duration // no such time goes by without a heartbeat, and it has three, on any file system; 0: on those that machines share 15 s, on others there are none
	Beat     time.Duration // between heartbeats; default a third of Period
	Patience time.Duration // how long a holder on another machine must be silent to count as dead; default 30 s, and twice its own Period
	Boot     string        // identifies this machine; default the start of its kernel
}

func (o LeaseOptions) withDefaults() LeaseOptions {
	switch {
	case o.Beat <= 0 && o.Period <= 0:
		o.Beat = defaultPeriod / beats
	case o.Beat <= 0:
		o.Beat = o.Period / beats
	}
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	return o
}

const (
	defaultPeriod   = 15 * time.Second
	defaultPatience = 2 * defaultPeriod
	beats           = 3 // in a period: two may be late

	// MaxPeriod bounds LeaseOptions.Period; a longer one that is read from a file counts as this.
	MaxPeriod = 10 * time.Minute
)

// promised is Holder.Period.
func (o *LeaseOptions) promised(shared bool) int64 {
	if !shared && o.Period <= 0 {
		return 0
	}
	return max(int64((beats*o.Beat)/time.Millisecond), 1)
}

// A Lease is the right to write to the file or directory of a name. Its methods may be called by any goroutine.
type Lease struct {
	fsys vfs.FS
	name string // the name that is held
	lock string // of the lease's file
	me   Holder

	mu   sync.Mutex // of file, and for writing to it
	file vfs.File
	stop chan struct{} // ends the heartbeat; nil: none, or it was ended already
	done chan struct{} // closed when it has ended; nil: there was none

	patience time.Duration
	locked   bool      // with a lock
	seen     time.Time // under mu: nobody took it over earlier than patience after that
	checked  time.Time // under mu: when Check last began that found it ours
	sent     bool      // under mu: other machines can read the holder
	joint    bool      // under mu: other processes may have joined

	dead   *Holder // the former holder that it was taken over from
	fresh  bool    // from nobody
	shared bool    // other machines may write there, as far as is known
}

// put makes b the content of f, for others to read; shared: on any machine.
func put(f vfs.File, b []byte, shared bool) error {
	return putCut(f, b, shared, f.Truncate)
}

// putCut is put for a file that is not longer, without cut.
func putCut(f vfs.File, b []byte, shared bool, cut func(int64) error) error {
	_, err := f.WriteAt(b, 0)
	if err == nil && cut != nil {
		err = cut(int64(len(b)))
	}
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
		first := time.NewTimer(every / 10) // a lease that ends by then is not sent
		defer first.Stop()
		for {
			select {
			case <-stop:
				return
			case <-first.C:
				l.mu.Lock()
				_ = l.send() // the next beat may come through
				l.mu.Unlock()
				continue
			case <-t.C:
			}
			// An error of the file system is no loss: the next beat may come through, and Check decides.
			if err := l.Check(); errors.As(err, new(*InUseError)) {
				return
			}
			l.mu.Lock()
			l.me.Beat++
			recent, now := l.recent(), time.Now()
			if put(l.file, l.me.encode(), l.shared) == nil {
				l.sent = l.shared
				if recent { // a beat that comes late may go to a file that has been replaced
					l.seen = now
				}
			}
			l.mu.Unlock()
		}
	}()
}

// send makes the holder of a new lease readable on other machines. Nobody need wait for it: until then the lock, or the wait for a beat, keeps
// them off. mu is held.
func (l *Lease) send() error {
	if l.sent || !l.shared {
		return nil
	}
	err := l.file.Sync()
	l.sent = err == nil
	return err
}

// ID returns the identity of this holder.
func (l *Lease) ID() string { return l.me.ID }

// Tag returns the identity in the form that is part of file names: see TagOf.
func (l *Lease) Tag() string { return TagOf(l.me.ID) }

// Dead returns the former holder from which the lease was taken over, nil if there was none with a name.
func (l *Lease) Dead() *Holder { return l.dead }

// Fresh reports whether there was no file of the lease, so that no former holder died with it.
func (l *Lease) Fresh() bool { return l.fresh }

// Shared says that other machines may write to the directory, or that this is not known (vfs.FS.Local).
func (l *Lease) Shared() bool { return l.shared }

// Unsure reports whether the lease was taken over from a holder that may not be dead, and may still write to the files that it had
// open. That remains so for the next holder, until one has called Settle: Release then leaves the file.
func (l *Lease) Unsure() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.me.Unsure
}

// Settle notes that files that a former holder may have open no longer belong to the name of the lease.
func (l *Lease) Settle() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.me.Unsure {
		return nil
	}
	l.me.Unsure = false
	return put(l.file, l.me.encode(), true)
}

// Recent reports whether nobody can have taken the lease over yet: heartbeats have come in time, the last of them within a third of
// LeaseOptions.Patience, and the lock of the file keeps off processes of this machine. It costs no call. On file systems of one machine, where Check
// costs no message, it is false. A machine that was stopped as a whole may not know for how long: before a commit, ask Check.
func (l *Lease) Recent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recent()
}

// recent holds if nobody can have taken the lease since seen: others who began to wait before seen have to wait for patience after it, and see a beat by lateness after it.
func (l *Lease) recent() bool {
	return l.shared && l.locked && elapsed(l.seen) < l.patience/3
}

// elapsed is how long something is ago, by the clock that runs on while the machine sleeps, or by the one that nobody sets.
func elapsed(from time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(from), now.Round(0).Sub(from.Round(0)))
}

// Check returns an InUseError if the lease is no longer ours.
func (l *Lease) Check() error {
	now := time.Now()
	err := CheckHolder(l.fsys, l.name, l.me.ID)
	if err == nil {
		l.mu.Lock()
		l.checked = now
		l.mu.Unlock()
	}
	if lost, ok := err.(*InUseError); ok {
		lost.Ended = false // not by this process
	}
	return err
}

// CheckHolder returns an InUseError if the lease of name is not the holder's with that ID.
func CheckHolder(fsys vfs.FS, name, id string) error {
	h, b, err := holderOf(fsys, LockName(name))
	if err != nil || h != nil && h.ID == id {
		return err
	}
	return &InUseError{Name: name, Holder: h, Lost: true, Ended: b == nil}
}

// Share lets other processes of the holder Join, so that the lease lasts as long as any of them lives.
func (l *Lease) Share() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.send(); err != nil { // they read it
		return err
	}
	l.joint = true
	return shareLock(l.file, l.name)
}

func shareLock(f vfs.File, name string) error {
	err := lock(f, false)
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
	l.stop = nil // one caller ends the heartbeat, and all wait for its end
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
	defer living.Delete(l.me.ID)
	var err error
	if l.joint || !l.locked {
		err = vfs.Lock(f, true)
	}
	switch {
	case errors.Is(err, vfs.ErrNoLocks): // as on Windows, where no open file can be removed
		return errors.Join(f.Close(), removeOwn(l.fsys, l.name, l.me.ID))
	case errors.Is(err, vfs.ErrLocked): // other processes of this holder live: the last of them removes it
		return f.Close()
	case err == nil && l.recent() && elapsed(l.checked) < l.patience/lateness && !l.me.Unsure: // as certain as if it were looked at once more
		if err = l.fsys.Remove(l.lock); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	case err == nil:
		err = removeOwn(l.fsys, l.name, l.me.ID)
	}
	return errors.Join(err, f.Close())
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

// Join makes this process part of the lease of name with that ID, whose holder has called Share. It costs three calls on the file, and may not see
// a holder that takes over at the same moment: before a change that another holder could make too, call Check.
func Join(fsys vfs.FS, name, id string) (*Member, error) {
	m := &Member{fsys: fsys, name: name, id: id}
	f, err := vfs.OpenOwn(fsys, LockName(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &InUseError{Name: name, Lost: true, Ended: true}
	}
	if err != nil {
		return nil, err
	}
	if err = shareLock(f, name); err == nil {
		var h *Holder
		if h, _, err = readHolder(f); err == nil && (h == nil || h.ID != id) {
			err = &InUseError{Name: name, Holder: h, Lost: true}
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m.file = f
	return m, nil
}

// Check is Lease.Check for a member.
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
