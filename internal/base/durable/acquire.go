package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// tries limits the attempts of Acquire while other processes change the lease.
const tries = 100

// Acquire takes the lease of name. The file or directory name need not exist, but its parent directory must. If another process
// holds the lease, the error is an InUseError. Acquire takes over the lease of a dead holder. On shared file systems it waits
// until the holder counts as dead (see the package comment), or until ctx is done.
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

// errChanged ends an attempt because another process changed the lease file. The next attempt may succeed.
var errChanged = errors.New("another process changed the lock")

// An attempt to acquire a lease opens and locks its file and examines the former holder. Then it writes its own ID and confirms
// that the name still refers to the file it wrote.
type attempt struct {
	*Lease
	o      LeaseOptions
	begun  time.Time
	opened vfs.File // nil: closed
	origin origin
	former former
	was    *Holder // the former holder according to the file
	raw    []byte  // content of the file
}

type origin uint8

const (
	found   origin = iota
	made           // this attempt created the file
	foreign        // another user's file: it can be locked, and users with write access to the directory can replace it
)

// former is the known state of the former holder.
type former uint8

const (
	nobody former = iota // there was no holder
	dead
	doubtful // the former holder, or an earlier holder that was Unsure, may be alive
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

// open opens the lease file and creates it if it is missing.
func (a *attempt) open() error {
	f, err := a.fsys.Create(a.lock) // usually there is no file, so creating first saves a call
	if err == nil {
		a.opened, a.origin = f, made
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if dir := filepath.Dir(a.lock); !exists(a.fsys, dir) { // the error has the name that the caller used
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

// end closes the file, unless the lease has taken it over. After an error, it removes an empty file that this attempt created.
func (a *attempt) end(err error) error {
	f := a.opened
	if a.file != nil && a.file == f {
		return err
	}
	failed := err != nil && err != errChanged
	if a.origin == made && failed && (f == nil || !errors.Is(vfs.Lock(f, true), vfs.ErrLocked)) { // the lock proves that no other process is about to fill the file
		if _, b, herr := holderOf(a.fsys, a.lock); herr == nil && b != nil && len(b) == 0 {
			_ = a.fsys.Remove(a.lock) // the earlier error is returned
		}
	}
	if f == nil {
		return err
	}
	cerr := f.Close()
	if a.file != nil { // the former holder's file was only read
		return err
	}
	return withClose(err, cerr)
}

// withClose joins the errors of an attempt and of closing a file. The latter precedes errChanged.
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

// stale ends an attempt whose file another network client has removed.
func (a *attempt) stale() error {
	_ = a.closeFirst() // fails, too
	time.Sleep(stalePause)
	return errChanged
}

// exclude locks the file exclusively. Without locks, only the content of the file shows the holder.
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

// examine examines the former holder. If this holder may be alive, examine waits for its heartbeat.
func (a *attempt) examine(ctx context.Context) (err error) {
	a.dead, a.fresh, a.me.Unsure = nil, false, false
	a.was, a.raw, err = readHolder(a.opened)
	switch {
	case gone(err) && a.origin != made:
		return a.stale()
	case err != nil:
		return err
	case a.origin == made && len(a.raw) == 0: // another process may have created the empty file and may be about to fill it
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

// write makes this process the holder, in the file or in a replacement.
func (a *attempt) write(context.Context) error {
	f := a.opened
	if a.origin != foreign && (a.former == nobody || a.locked && !a.me.Unsure) {
		cut := f.Truncate
		if a.former == nobody {
			cut = nil // truncation is a message on a network file system and on some flushes all data
		}
		if err := putCut(f, a.me.encode(), false, cut); err != nil {
			return errors.Join(err, removeLast(a.fsys, a.name, a.me.ID, f))
		}
		a.file = f
		return nil
	}
	if !a.locked { // without a lock the file excludes no process, and Windows cannot replace an open file
		if err := a.closeFirst(); err != nil {
			return err
		}
	}
	return a.succeed(a.raw, a.was, a.locked)
}

// confirm checks that the name still refers to the file, and removes files of dead processes.
func (a *attempt) confirm(ctx context.Context) (err error) {
	if a.former == doubtful && a.shared {
		// During this pause, the Check of the former holder may still find its own lease file and pass. After the pause, all
		// files that the former holder created before such a Check are visible, so the new holder removes them.
		err = par.Pause(ctx, a.o.Patience/lateness)
	}
	ours := a.fresh && a.shared && elapsed(a.begun) < a.o.Patience/lateness // no other process has taken the new file over: it would have to wait longer, or to lock the file
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
		_ = removeLast(a.fsys, a.name, a.me.ID, f) // the first error is returned
	}
	if f == a.opened { // end closes this file
		return err
	}
	return withClose(err, f.Close())
}

// A lock may be taken for a moment, while another process inspects it or while the last process of a writer ends. So lock tries
// lockTries times, with pauses of lockPause.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

// stalePause is the pause between attempts while this network client caches a name that another client has removed. Most clients
// drop such a name after a second.
const stalePause = 30 * time.Millisecond

// gone reports whether err means that a file was removed while it was open. A server may report this later than the open.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, vfs.ErrStale)
}

// lock calls vfs.Lock and waits for processes that only inspect the lock.
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
