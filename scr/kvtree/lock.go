package kvtree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Update reads a file, has it changed by change, and writes it back in place, under an exclusive lock of the file
// that the programs of the reference honour. It waits for the lock until ctx ends. A file that is not there is made.
// If change returns an error, nothing is written and Update returns it; if the tree has the bytes it had, nothing is
// written either. A crash during the write may leave a damaged file (Options.Replace): where no program
// of the reference writes to the file, WriteFile is better.
//
// Before anything is changed the lock is tried with a second descriptor: if that gets it too, or the file system knows
// no locks, the error wraps ErrNoLocks. This cannot find a file system whose locks work on
// one node but not between nodes.
func Update(ctx context.Context, fsys vfs.FS, name string, o *Options, change func(t *Tree) error) error {
	fsys = vfs.OrOS(fsys)
	opts, err := o.fill()
	if err != nil {
		return err
	}
	f, err := lockFile(ctx, fsys, name, &opts, true)
	if err != nil {
		return err
	}
	err = update(fsys, f, name, &opts, change)
	return errors.Join(err, f.Close()) // the lock ends with the descriptor
}

func update(fsys vfs.FS, f vfs.File, name string, o *Options, change func(t *Tree) error) error {
	r, err := readFile(f, name, o)
	if err != nil {
		var damage *FormatError
		if !o.Replace || !errors.As(err, &damage) {
			return err
		}
		r = &Record{Tree: New()}
	}
	if size, err := f.Size(); err != nil {
		return err
	} else if r.Size > 0 && size > r.Size && !o.Replace {
		return fault.Usage("%s: %d bytes follow the tree and would be cut off", name, size-r.Size)
	}
	before, err := Encode(r.Tree)
	if err != nil {
		return err
	}
	if err := change(r.Tree); err != nil {
		return err
	}
	after, err := Encode(r.Tree)
	if err != nil {
		return err
	}
	if bytes.Equal(before, after) && r.Size == int64(len(after)) {
		return nil
	}
	if _, err := f.WriteAt(after, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(after))); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || r.Size > 0 {
		return err
	}
	return vfs.SyncParent(fsys, name) // the file was empty, so perhaps just made
}

// ReadLocked reads a file under a shared lock, so never while Update writes it. Errors are as for ReadFile, or wrap
// ErrNoLocks.
func ReadLocked(ctx context.Context, fsys vfs.FS, name string, o *Options) (*Tree, error) {
	fsys = vfs.OrOS(fsys)
	opts, err := o.fill()
	if err != nil {
		return nil, err
	}
	f, err := lockFile(ctx, fsys, name, &opts, false)
	if err != nil {
		return nil, err
	}
	r, err := readFile(f, name, &opts)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return r.Tree, nil
}

// lockFile opens and locks a file; an exclusive lock makes it if it is not there. When the name came to mean another
// file before the lock was got, it begins again.
func lockFile(ctx context.Context, fsys vfs.FS, name string, o *Options, exclusive bool) (vfs.File, error) {
	for {
		f, err := openFile(fsys, name, exclusive, o.Perm)
		if err != nil || o.NoLock {
			return f, err
		}
		if err = waitLock(ctx, f, name, exclusive); err == nil && exclusive {
			err = tryTwice(fsys, f, name)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		named, err := vfs.Named(fsys, f, name)
		if named {
			return f, nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
}

// openTries is how often a file is looked for that others make and take away.
const openTries = 8

// openFile opens a file; for writing also when it is not there.
func openFile(fsys vfs.FS, name string, write bool, perm fs.FileMode) (f vfs.File, err error) {
	if !write {
		return fsys.Open(name)
	}
	for range openTries {
		if f, err = fsys.OpenRW(name); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if f, err = vfs.CreateMode(fsys, name, cmp.Or(perm, 0o666)); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, err
}

// The pauses between attempts to get a lock.
const (
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// waitLock takes a lock as soon as it is free. It asks again and again: a system call that waits could not be ended
// with ctx.
func waitLock(ctx context.Context, f vfs.File, name string, exclusive bool) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := vfs.Lock(f, exclusive); !errors.Is(err, vfs.ErrLocked) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%s: waiting for its lock: %w", name, ctx.Err())
		}
	}
}

// tryTwice takes the exclusive lock that f has with a second descriptor, which must fail.
func tryTwice(fsys vfs.FS, f vfs.File, name string) error {
	second, err := fsys.OpenRW(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // renamed or removed meanwhile, as lockFile finds out
		}
		return err
	}
	defer func() { _ = second.Close() }()
	if named, err := vfs.Named(fsys, f, name); !named {
		return err
	}
	switch err := vfs.Lock(second, true); {
	case err == nil:
		return fmt.Errorf("%s: two descriptors got the same exclusive lock: %w", name, ErrNoLocks)
	case errors.Is(err, vfs.ErrLocked):
		return nil
	default:
		return err
	}
}

// Locked reports whether another descriptor has the exclusive lock of a file now, such as an Update that is
// running. It does not wait. A file that is not there is not locked. The error wraps ErrNoLocks where that cannot be
// known.
func Locked(fsys vfs.FS, name string) (bool, error) {
	fsys = vfs.OrOS(fsys)
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = vfs.Lock(f, false) // shared: others may ask at the same time
	held := errors.Is(err, vfs.ErrLocked)
	if held {
		err = nil
	}
	return held, errors.Join(err, f.Close())
}

// CheckLocks finds out whether locks work in a folder, with a file that it makes and removes. The error wraps
// ErrNoLocks if they do not.
func CheckLocks(fsys vfs.FS, dir string) error {
	fsys = vfs.OrOS(fsys)
	f, err := durable.CreateTemp(fsys, filepath.Join(dir, "locks"), durable.TempOptions{})
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := vfs.Lock(f.File, true); err != nil {
		return err
	}
	return tryTwice(fsys, f.File, f.Name())
}
