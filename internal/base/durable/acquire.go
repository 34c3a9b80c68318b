package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"blobio/internal/base/vfs"
)

// tries bounds the attempts of Acquire to get a lease that keeps changing hands.
const tries = 100

// Acquire takes the lease of name, of a file or directory that need not be there. Its directory must be.
// A lease that somebody holds is an InUseError. Acquire takes over the lease of a dead holder; on file systems
// that machines share it waits for that (see the package comment), until ctx is done.
func Acquire(ctx context.Context, fsys vfs.FS, name string, o LeaseOptions) (_ *Lease, err error) {
	l := &Lease{fsys: fsys, name: name, lock: LockName(name), me: me()}
	living.Store(l.me.ID, true)
	defer func() {
		if err != nil {
			living.Delete(l.me.ID)
		}
	}()
	o = o.withDefaults()
	if o.Boot != "" {
		l.me.Boot = o.Boot
	}
	l.patience = o.Patience
	for range tries {
		switch err := l.try(ctx, o); {
		case err == nil:
			if l.me.Period > 0 {
				l.beat(o.Beat)
			}
			return l, nil
		case err != errChanged:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
	h, _, err := holderOf(fsys, l.lock)
	return nil, errors.Join(&InUseError{Name: name, Holder: h}, err)
}

// errChanged ends an attempt during which somebody else changed the file of the lease: the next one may succeed.
var errChanged = errors.New("another process changed the lock")

// An attempt to acquire a lease opens its file, locks it, finds out about the former holder, writes its own identity, and confirms that
// the name still means what it wrote.
type attempt struct {
	*Lease
	o      LeaseOptions
	begun  time.Time
	opened vfs.File // nil: closed
	origin origin
	former former
	was    *Holder // the former holder, as far as the file says
	raw    []byte  // the content of the file
}

// origin is where the file of the lease comes from.
type origin uint8

const (
	found   origin = iota
	made           // by this attempt: there was none
	foreign        // another user's: it can be locked, and be replaced, by who may do so in its directory
)

// former says how much is known of the former holder.
type former uint8

const (
	nobody former = iota // there was none
	dead
	doubtful // it may be alive, or its own predecessor, which it was not sure about
)

func (l *Lease) try(ctx context.Context, o LeaseOptions) (err error) {
	a := &attempt{Lease: l, o: o, begun: time.Now()}
	if err := a.open(); err != nil {
		return err
	}
	defer func() { err = a.end(err) }()
	for _, step := range []func(context.Context) error{a.exclude, a.examine, a.write, a.confirm} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open opens the file of the lease, which is made if it is not there.
func (a *attempt) open() error {
	f, err := a.fsys.Create(a.lock) // usually there is none, and an open before this would be a call more
	if err == nil {
		a.opened, a.origin = f, made
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if dir := filepath.Dir(a.lock); !exists(a.fsys, dir) { // the directory is what the caller knows
			err = fmt.Errorf("%s: no directory %s: %w", a.name, dir, fs.ErrNotExist)
		}
		return err
	}
	if denied := errors.Is(err, fs.ErrPermission); denied || errors.Is(err, fs.ErrExist) {
		refused := err
		f, err = a.fsys.OpenRW(a.lock)
		switch {
		case errors.Is(err, fs.ErrNotExist) && denied:
			return refused
		case errors.Is(err, fs.ErrNotExist):
			return errChanged
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		if r, rerr := a.fsys.Open(a.lock); rerr == nil {
			f, err, a.origin = r, nil, foreign
		}
	}
	a.opened = f
	return err
}

// end closes the file, unless it is the lease now. One that this attempt has made, and left empty, is removed after an error.
func (a *attempt) end(err error) error {
	f := a.opened
	if a.file != nil && a.file == f {
		return err
	}
	failed := err != nil && err != errChanged
	if a.origin == made && failed && (f == nil || !errors.Is(vfs.Lock(f, true), vfs.ErrLocked)) { // with the lock, nobody else is about to fill it
		if _, b, herr := holderOf(a.fsys, a.lock); herr == nil && b != nil && len(b) == 0 {
			_ = a.fsys.Remove(a.lock) // the error before is the one to tell
		}
	}
	if f == nil {
		return err
	}
	cerr := f.Close()
	if a.file != nil { // the file of the former holder was only read
		return err
	}
	return withClose(err, cerr)
}

// withClose joins the error of an attempt and of closing a file, which counts for more than errChanged.
func withClose(err, cerr error) error {
	if err == errChanged && cerr != nil {
		return cerr
	}
	if cerr == nil {
		return err
	}
	return errors.Join(err, cerr)
}

// closeFirst closes the file before the attempt ends.
func (a *attempt) closeFirst() error {
	f := a.opened
	a.opened = nil
	return f.Close()
}

// stale ends an attempt whose file another client of a network has removed.
func (a *attempt) stale() error {
	_ = a.closeFirst() // fails, too
	time.Sleep(stalePause)
	return errChanged
}

// exclude locks the file alone. Without locks the file alone says who holds the lease.
func (a *attempt) exclude(context.Context) error {
	a.shared = !a.fsys.Local(a.name)
	a.me.Period = a.o.promised(a.shared)
	err := lock(a.opened, true)
	switch a.locked = err == nil; {
	case err == nil, errors.Is(err, vfs.ErrNoLocks):
		return nil
	case gone(err) && a.origin != made:
		return a.stale()
	case errors.Is(err, vfs.ErrLocked):
		h, _, herr := readHolder(a.opened)
		return errors.Join(&InUseError{Name: a.name, Holder: h}, herr)
	}
	return err
}

// examine finds out about the former holder, and waits for a sign of one that may be alive.
func (a *attempt) examine(ctx context.Context) (err error) {
	a.dead, a.fresh, a.me.Unsure = nil, false, false
	a.was, a.raw, err = readHolder(a.opened)
	switch {
	case gone(err) && a.origin != made:
		return a.stale()
	case err != nil:
		return err
	case a.origin == made && len(a.raw) == 0: // the process that made an empty file may be about to fill it
		a.fresh = true
		return nil
	}
	left := a.was != nil && a.was.Unsure
	a.dead, a.me.Unsure = a.was, a.shared || !a.locked || a.was.elsewhere(&a.me) || left
	if a.locked && a.was.ended(&a.me, !a.shared) {
		if a.former = dead; left {
			a.former = doubtful
		}
		return nil
	}
	a.former = doubtful
	patience := a.o.Patience
	if patience == defaultPatience {
		patience = max(patience, 2*a.was.period())
	}
	return a.watch(ctx, a.raw, patience)
}

// write makes this process the holder: in the file itself, or in one that takes its place.
func (a *attempt) write(context.Context) error {
	f := a.opened
	if a.origin != foreign && (a.former == nobody || a.locked && !a.me.Unsure) {
		cut := f.Truncate
		if a.former == nobody {
			cut = nil // a message on a network file system, and on some of them all data go to disks first
		}
		if err := putCut(f, a.me.encode(), false, cut); err != nil {
			return errors.Join(err, removeLast(a.fsys, a.name, a.me.ID, f))
		}
		a.file = f
		return nil
	}
	if !a.locked { // then it keeps nobody off, and on Windows no file that is open can be replaced
		if err := a.closeFirst(); err != nil {
			return err
		}
	}
	return a.succeed(a.raw, a.was, a.locked)
}

// confirm looks whether the name has come to mean another file since it was opened, and removes the leftovers of dead processes.
func (a *attempt) confirm(ctx context.Context) (err error) {
	if a.former == doubtful && a.shared {
		err = linger(ctx, a.o.Patience/lateness)
	}
	ours := a.fresh && a.shared && elapsed(a.begun) < a.o.Patience/lateness // who finds it waits for longer, or has its lock
	if err == nil && !ours {
		var h *Holder
		h, _, err = holderOf(a.fsys, a.lock)
		ours = h != nil && h.ID == a.me.ID
	}
	if err == nil && ours {
		a.seen, a.sent = a.begun, !a.fresh
		if !a.fresh {
			err = a.sweep()
		}
		if err == nil {
			return nil
		}
	}
	f := a.file
	a.file = nil
	if err == nil {
		err = errChanged
	} else {
		_ = removeLast(a.fsys, a.name, a.me.ID, f) // the first error is the one to tell
	}
	if f == a.opened { // end closes it
		return err
	}
	return withClose(err, f.Close())
}

// lockTries and lockPause are for the moments in which others look whether a lease is held, or a writer of several
// processes is about to end.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

// stalePause is for clients of a network that still know a name which another one has removed: most forget it after a second.
const stalePause = 30 * time.Millisecond

// gone says that a file which was opened is not there any more, as its server says later than the client who knew its name.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, vfs.ErrStale)
}

// lock is vfs.Lock, which waits for those who only look.
func lock(f vfs.File, exclusive bool) (err error) {
	for range lockTries {
		if err = vfs.Lock(f, exclusive); !errors.Is(err, vfs.ErrLocked) {
			break
		}
		time.Sleep(lockPause)
	}
	return err
}

func exists(fsys vfs.FS, name string) bool {
	_, err := fsys.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}
