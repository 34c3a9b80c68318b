package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"blobio/internal/base/vfs"
)

// watch waits until the file has been silent for so long. errChanged: it is not there any more.
func (l *Lease) watch(ctx context.Context, was []byte, patience time.Duration) error {
	t := time.NewTicker(max(min(patience/20, time.Second/2), 1))
	defer t.Stop()
	for from := time.Now(); time.Since(from) < patience; { // by the monotonic clock
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
		h, now, err := holderOf(l.fsys, l.lock)
		switch {
		case err != nil:
			return err
		case now == nil:
			return errChanged // released
		case !bytes.Equal(now, was):
			return &InUseError{Name: l.name, Holder: h}
		}
	}
	return nil
}

// lateness is the part of LeaseOptions.Patience that clients of a network may need until they see a file to which another one has given a name.
const lateness = 15

// linger waits, after a lease was taken over from a holder that may be alive. Until then his Check may read his own file under the name of ours,
// and pass. Files that he created before that Check are there when linger returns, so the new holder removes them.
func linger(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// succeed puts a file of our own in the place of a dead holder's. On this machine, whoever else could do so needs the lock
// of that file, which we have. Without locks no file is open at the rename: Windows would refuse it.
func (l *Lease) succeed(raw []byte, was *Holder, locked bool) error {
	if _, now, err := holderOf(l.fsys, l.lock); err != nil {
		return err
	} else if !bytes.Equal(now, raw) {
		return errChanged
	}
	tmp := l.lock + "." + l.Tag()
	f, err := l.fsys.Create(tmp)
	if err != nil {
		return err
	}
	if err = put(f, l.me.encode(), true); err == nil && locked {
		if err = vfs.Lock(f, true); errors.Is(err, vfs.ErrNoLocks) {
			err = nil
		}
	}
	if !locked {
		err = errors.Join(err, f.Close())
		f = nil
	}
	if err == nil {
		err = l.fsys.Rename(tmp, l.lock)
	}
	for range lockTries { // others may have it open just to find the holder of the lease
		if err == nil || locked || errors.Is(err, fs.ErrNotExist) {
			break
		}
		time.Sleep(lockPause)
		if _, now, herr := holderOf(l.fsys, l.lock); herr == nil && !bytes.Equal(now, raw) {
			_ = l.fsys.Remove(tmp)
			return errChanged
		}
		err = l.fsys.Rename(tmp, l.lock)
	}
	if err == nil && f == nil {
		if f, err = l.fsys.OpenRW(l.lock); errors.Is(err, fs.ErrNotExist) {
			return errChanged // another one has it by now; so it is if what was opened is not ours, which confirm looks at
		} else if err != nil {
			return err
		}
	}
	if err == nil {
		l.file = f
		return nil
	}
	if f != nil {
		_ = f.Close()
	}
	if rerr := l.fsys.Remove(tmp); errors.Is(rerr, fs.ErrNotExist) && errors.Is(err, fs.ErrNotExist) {
		return errChanged // a process that has taken over first has removed it
	} else if !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	if !locked {
		err = fmt.Errorf("%s: cannot replace the lease of %s, as if a process had it open; if no process writes %s, end the process with the open file, or delete the file: %w", l.lock, was, l.name, err)
	}
	return err
}

// Leftovers lists the files of those that died while they took over the lease of name.
func Leftovers(fsys vfs.FS, name string) (list []string, err error) {
	entries, err := fsys.ReadDir(filepath.Dir(name))
	for _, e := range entries {
		if of, ok := LeftoverOf(e.Name()); ok && of == filepath.Base(name) && !e.IsDir() {
			list = append(list, filepath.Join(filepath.Dir(name), e.Name()))
		}
	}
	return list, err
}

// LeftoverOf returns the name for whose lease Leftovers lists a file; both are names without a directory.
func LeftoverOf(file string) (name string, ok bool) {
	dot := strings.LastIndexByte(file, '.')
	if dot < 0 || !IsTag(file[dot+1:]) {
		return "", false
	}
	return LockOf(file[:dot])
}

// sweep removes the files that Leftovers lists. A process that is not dead fails at its rename, and finds that the lease is ours. Files
// of another user stay: they do no harm.
func (l *Lease) sweep() error {
	list, err := Leftovers(l.fsys, l.name)
	for _, name := range list {
		if rerr := l.fsys.Remove(name); !errors.Is(rerr, fs.ErrNotExist) && !errors.Is(rerr, fs.ErrPermission) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}
