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

// watch waits until the file has been silent for patience. It returns errChanged if the file is gone.
func (l *Lease) watch(ctx context.Context, was []byte, patience time.Duration) error {
	t := time.NewTicker(max(min(patience/20, time.Second/2), 1))
	defer t.Stop()
	for from := time.Now(); time.Since(from) < patience; { // monotonic clock
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
			return errChanged // the lease was released
		case !bytes.Equal(now, was):
			return &InUseError{Name: l.name, Holder: h}
		}
	}
	return nil
}

// lateness is the fraction of LeaseOptions.Patience after which network clients see a renamed file.
const lateness = 15

// succeed replaces a dead holder's file with the file of this holder. Other processes of this machine are excluded, because
// this process holds the lock of the old file. Without locks, the file is closed before the rename, because Windows would
// refuse to rename an open file.
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
	for range lockTries { // other processes may have the file open to inspect the holder
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
			return errChanged // another process has replaced the file
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
		return errChanged // another process took over first and removed the file
	} else if !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	if !locked {
		err = fmt.Errorf("%s: cannot replace the lease of %s, probably because a process has this file open; if no process writes %s, end the process with the open file, or delete the file: %w", l.lock, was, l.name, err)
	}
	return err
}

// Leftovers lists the files of processes that died while they took over the lease of name.
func Leftovers(fsys vfs.FS, name string) (list []string, err error) {
	entries, err := fsys.ReadDir(filepath.Dir(name))
	for _, e := range entries {
		if of, ok := LeftoverOf(e.Name()); ok && of == filepath.Base(name) && !e.IsDir() {
			list = append(list, filepath.Join(filepath.Dir(name), e.Name()))
		}
	}
	return list, err
}

// LeftoverOf returns the name of the lease to which a file of Leftovers belongs. Both are names without a directory.
func LeftoverOf(file string) (name string, ok bool) {
	dot := strings.LastIndexByte(file, '.')
	if dot < 0 || !IsTag(file[dot+1:]) {
		return "", false
	}
	return LockOf(file[:dot])
}

// sweep removes the files that Leftovers lists. If the process that made such a file is alive, its rename fails, and it finds
// the lease of this process. Files of other users stay and do no harm.
func (l *Lease) sweep() error {
	list, err := Leftovers(l.fsys, l.name)
	for _, name := range list {
		if rerr := l.fsys.Remove(name); !errors.Is(rerr, fs.ErrNotExist) && !errors.Is(rerr, fs.ErrPermission) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}
