package durable

import (
	"errors"
	"io/fs"
	"sync"
	"time"

	"blobio/internal/base/vfs"
)

// LeaseOptions are the options of Acquire. The zero value means the defaults.
type LeaseOptions struct {
	Period   time.Duration // time in which at least one heartbeat, normally three, comes; 0: 15 s on shared file systems, no heartbeats on others
	Beat     time.Duration // between heartbeats; default a third of Period
	Patience time.Duration // silence after which a holder on another machine counts as dead; default 30 s, at least twice the holder's Period
	Boot     string        // identifies this machine's boot; default from the kernel
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
	beats           = 3 // heartbeats per period: two may be late

	// MaxPeriod is the maximum of LeaseOptions.Period. A longer period in a lease file counts as MaxPeriod.
	MaxPeriod = 10 * time.Minute
)

// promised returns the value of Holder.Period.
func (o *LeaseOptions) promised(shared bool) int64 {
	if !shared && o.Period <= 0 {
		return 0
	}
	return max(int64((beats*o.Beat)/time.Millisecond), 1)
}

// A Lease is the right to write to the file or directory of a name. It is safe for concurrent use.
type Lease struct {
	fsys vfs.FS
	name string // the name that the lease is for
	lock string // name of the lease file
	me   Holder

	mu   sync.Mutex // guards file and writes to it
	file vfs.File
	stop chan struct{} // ends the heartbeat; nil: none, or already ended
	done chan struct{} // closed when the heartbeat has ended; nil: no heartbeat

	patience time.Duration
	locked   bool      // the file is locked
	seen     time.Time // under mu: no other process can take over until patience has passed since seen
	checked  time.Time // under mu: start of the last successful Check
	sent     bool      // under mu: other machines can read the holder
	joint    bool      // under mu: other processes may have joined

	dead   *Holder // the dead former holder
	fresh  bool    // there was no lease file before
	shared bool    // other machines may write to the file system
}

// put makes b the content of f. If shared, put also syncs f, so that other machines see the content.
func put(f vfs.File, b []byte, shared bool) error {
	return putCut(f, b, shared, f.Truncate)
}

// putCut is put without a truncation if cut is nil, for a file that is not longer than b.
func putCut(f vfs.File, b []byte, shared bool, cut func(int64) error) error {
	_, err := f.WriteAt(b, 0)
	if err == nil && cut != nil {
		err = cut(int64(len(b)))
	}
	if err == nil && shared {
		err = f.Sync() // so that a network client sends the content to the server; durability is not needed
	}
	return err
}

// beat starts the heartbeat.
func (l *Lease) beat(every time.Duration) {
	stop, done := make(chan struct{}), make(chan struct{})
	l.stop, l.done = stop, done
	go func() {
		defer close(done)
		t := time.NewTicker(every)
		defer t.Stop()
		first := time.NewTimer(every / 10) // a lease that ends before is not sent
		defer first.Stop()
		for {
			select {
			case <-stop:
				return
			case <-first.C:
				l.mu.Lock()
				_ = l.send() // the next beat may succeed
				l.mu.Unlock()
				continue
			case <-t.C:
			}
			// An error of the file system does not end the heartbeat, because the next beat may succeed. Only an InUseError means
			// that the lease is lost.
			if err := l.Check(); errors.As(err, new(*InUseError)) {
				return
			}
			l.mu.Lock()
			l.me.Beat++
			recent, now := l.recent(), time.Now()
			if put(l.file, l.me.encode(), l.shared) == nil {
				l.sent = l.shared
				if recent { // a late beat may go to a replaced file
					l.seen = now
				}
			}
			l.mu.Unlock()
		}
	}()
}

// send makes the holder of a new lease readable on other machines. Acquire need not wait for send: before it, other machines are
// excluded by the lock, or wait for a beat. mu is held.
func (l *Lease) send() error {
	if l.sent || !l.shared {
		return nil
	}
	err := l.file.Sync()
	l.sent = err == nil
	return err
}

// ID returns the ID of this holder.
func (l *Lease) ID() string { return l.me.ID }

// Tag returns the tag of the ID. The tag is part of file names: see TagOf.
func (l *Lease) Tag() string { return TagOf(l.me.ID) }

// Dead returns the former holder from which the lease was taken over. It is nil if there was no former holder or its record was
// unreadable.
func (l *Lease) Dead() *Holder { return l.dead }

// Fresh reports whether there was no lease file when the lease was acquired. Then no former holder has died.
func (l *Lease) Fresh() bool { return l.fresh }

// Shared reports whether other machines may write to the directory; true if unknown (vfs.FS.Local).
func (l *Lease) Shared() bool { return l.shared }

// Unsure reports whether a former holder may be alive and may write to files that it had open. The next holders are Unsure, too,
// until a holder calls Settle. Release keeps the lease file until then.
func (l *Lease) Unsure() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.me.Unsure
}

// Settle records that files which a former holder has open do not belong to the name of the lease any more.
func (l *Lease) Settle() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.me.Unsure {
		return nil
	}
	l.me.Unsure = false
	return put(l.file, l.me.encode(), true)
}

// Recent reports whether no other process can have taken the lease. It returns true only if the last heartbeat succeeded within a
// third of LeaseOptions.Patience, and a lock of the file excludes processes of this machine. Recent makes no system call. On file
// systems of one machine it returns false, because Check is cheap there. A machine that was suspended may not know for how long
// it was suspended, so call Check before a commit.
func (l *Lease) Recent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recent()
}

// recent reports whether no other process can have taken the lease since seen. Another process takes the lease only after it has
// seen no beat for patience, and it sees a beat at the latest a fraction of patience (lateness) after the beat.
func (l *Lease) recent() bool {
	return l.shared && l.locked && elapsed(l.seen) < l.patience/3
}

// elapsed returns the time since from: the larger of wall-clock time, which includes sleep, and monotonic time, which cannot be
// set back.
func elapsed(from time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(from), now.Round(0).Sub(from.Round(0)))
}

// Check returns an InUseError if this process no longer holds the lease.
func (l *Lease) Check() error {
	now := time.Now()
	err := CheckHolder(l.fsys, l.name, l.me.ID)
	if err == nil {
		l.mu.Lock()
		l.checked = now
		l.mu.Unlock()
	}
	if lost, ok := err.(*InUseError); ok {
		lost.Ended = false // another process ended the lease
	}
	return err
}

// CheckHolder returns an InUseError if the holder of the lease of name has another ID.
func CheckHolder(fsys vfs.FS, name, id string) error {
	h, b, err := holderOf(fsys, LockName(name))
	if err != nil || h != nil && h.ID == id {
		return err
	}
	return &InUseError{Name: name, Holder: h, Lost: true, Ended: b == nil}
}

// Share allows other processes of the holder to call Join. The lease then lasts until the last of these processes ends.
func (l *Lease) Share() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.send(); err != nil { // the joining processes read the holder
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

// Release releases the lease.
func (l *Lease) Release() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	stop, done := l.stop, l.done
	l.stop = nil // one caller ends the heartbeat, and all callers wait for its end
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
	case errors.Is(err, vfs.ErrNoLocks): // on Windows an open file cannot be removed
		return errors.Join(f.Close(), removeOwn(l.fsys, l.name, l.me.ID))
	case errors.Is(err, vfs.ErrLocked): // other processes of this holder are alive; the last one removes the file
		return f.Close()
	case err == nil && l.recent() && elapsed(l.checked) < l.patience/lateness && !l.me.Unsure: // the last Check is so recent that another one is not needed
		if err = l.fsys.Remove(l.lock); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	case err == nil:
		err = removeOwn(l.fsys, l.name, l.me.ID)
	}
	return errors.Join(err, f.Close())
}

// removeLast removes the lease file, unless another holder owns it or other processes of this holder are alive. The last process
// of the holder removes the file.
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

// A Member is the share of another process in a lease.
type Member struct {
	fsys     vfs.FS
	name, id string
	file     vfs.File
}

// Join makes this process a member of the lease of name with that ID. The holder must have called Share. Join makes three calls
// on the file. Join may succeed although another holder takes over at the same moment, so call Check before a change that another
// holder could make, too.
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

// Leave ends the membership.
func (m *Member) Leave() error {
	if m == nil || m.file == nil {
		return nil
	}
	err := vfs.Lock(m.file, true)
	switch {
	case err == nil: // the last process
		err = removeOwn(m.fsys, m.name, m.id)
	case errors.Is(err, vfs.ErrLocked), errors.Is(err, vfs.ErrNoLocks): // other processes are members; without locks, only the holder removes the file
		err = nil
	}
	err = errors.Join(err, m.file.Close())
	m.file = nil
	return err
}
