package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"blobio/internal/vfs"
)

// tries bounds the attempts of Acquire to get a lease that keeps changing hands.
const tries = 100

// Acquire takes the lease of name, of a file or directory that need not be there. Its directory must be.
// One that somebody holds is an InUseError; that of a dead holder is taken over, for which
// Acquire waits on file systems that machines share (see the package comment), until ctx is done.
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
		again, err := l.try(ctx, o)
		if err != nil {
			return nil, err
		}
		if !again {
			if l.me.Period > 0 {
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
	begun := time.Now()
	f, err := l.fsys.Create(l.lock) // as a rule there is none, which who opens it first pays for
	if errors.Is(err, fs.ErrNotExist) {
		if dir := filepath.Dir(l.lock); !exists(l.fsys, dir) { // the directory is what the caller knows
			err = fmt.Errorf("%s: there is no directory %s: %w", l.name, dir, fs.ErrNotExist)
		}
		return false, err
	}
	made, foreign, shut := err == nil, false, false
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) {
		denied := err
		if f, err = l.fsys.OpenRW(l.lock); errors.Is(err, fs.ErrNotExist) {
			if errors.Is(denied, fs.ErrPermission) {
				return false, denied
			}
			return true, nil
		}
	}
	if errors.Is(err, fs.ErrPermission) {
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
			if cerr := f.Close(); l.file == nil { // the lease of a former holder was only read
				err = errors.Join(err, cerr)
			}
		}
	}()
	stale := func() (bool, error) { // to close such a file fails, too
		shut = true
		_ = f.Close()
		time.Sleep(stalePause)
		return true, nil
	}
	local := l.fsys.Local(l.name)
	l.shared = !local
	l.me.Period = o.promised(l.shared)
	held, locked := l.exclude(f)
	if !made && gone(held) {
		return stale()
	}
	if held != nil {
		h, _, herr := readHolder(f)
		if errors.Is(held, vfs.ErrLocked) {
			return false, errors.Join(&InUseError{Name: l.name, Holder: h}, herr)
		}
		return false, held
	}
	l.dead, l.me.Unsure = nil, false
	was, raw, err := readHolder(f)
	if !made && gone(err) {
		return stale()
	}
	if err != nil {
		return false, err
	}
	fresh := made && len(raw) == 0 // who made an empty file may be about to fill it
	l.fresh = fresh
	if !fresh {
		l.dead, l.me.Unsure = was, !local || !locked || was.elsewhere(&l.me) || was != nil && was.Unsure
	}
	alive := was != nil && was.Unsure // somebody may be: who held it before, or of whom that one was not sure
	if !fresh && !(locked && was.ended(&l.me, local)) {
		alive = true
		patience := o.Patience
		if patience == defaultPatience {
			patience = max(patience, 2*was.period())
		}
		if again, err := l.watch(ctx, raw, patience); again || err != nil {
			return again, err
		}
	}
	if !foreign && (locked && local && !l.me.Unsure || fresh) {
		cut := f.Truncate
		if fresh {
			cut = nil // a message on a network file system, and on some of them all data go to disks first
		}
		if err := putCut(f, l.me.encode(), !local && !fresh, cut); err != nil {
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
	var h *Holder
	if alive && l.shared {
		err = linger(ctx, o.Patience/lateness)
	}
	switch { // the name may have come to mean another file since it was opened
	case err != nil:
	case fresh && l.shared && elapsed(begun) < o.Patience/lateness: // not one that we made: who finds it waits for longer, or has its lock
		h = &l.me
	default:
		h, _, err = holderOf(l.fsys, l.lock)
	}
	if err == nil && h != nil && h.ID == l.me.ID {
		l.locked, l.seen, l.sent = locked, begun, !fresh
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

// stalePause is for clients of a network that still know a name which another one has removed: most forget it after a second.
const stalePause = 30 * time.Millisecond

// gone says that a file which was opened is not there any more, as its server says later than the client who knew its name.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, vfs.ErrStale)
}

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

func exists(fsys vfs.FS, name string) bool {
	_, err := fsys.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}
