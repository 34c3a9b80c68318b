package kvtree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// Update reads a file, calls change on its tree, and writes the tree back in place, under an exclusive lock that the programs of
// SCR respect. It waits for the lock until ctx ends, and creates a missing file. If change returns an error, Update returns the
// error and writes nothing. It also writes nothing if the bytes of the tree did not change. A crash during the write may leave a
// damaged file (see Options.Replace). Therefore WriteFile is better if no program of SCR writes to the file.
//
// Before the first change of a file, Update tries to take the lock with a second descriptor. If this succeeds, or if the file system has no
// locks, the error wraps ErrNoLocks. This test cannot detect that locks work on one node but not between nodes.
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
	return errors.Join(err, f.Close()) // closing the descriptor releases the lock
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
		return fault.Usage("%s: %d bytes follow the tree and would be lost", name, size-r.Size)
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
	return vfs.SyncParent(fsys, name) // the file was empty, so it may be new
}

// ReadLocked reads a file under a shared lock, which excludes Update. It returns the errors of ReadFile, or an error that wraps
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

// lockFile opens and locks a file. An exclusive lock creates a missing file. If the name refers to another file when the lock is
// taken, lockFile starts again.
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

// openTries is the maximum number of attempts to open a file that other processes create and remove.
const openTries = 8

// openFile opens a file. If write is set, it creates a missing file.
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

// Pauses between attempts to take a lock.
const (
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// waitLock waits until it can take a lock. It polls, because ctx could not interrupt a blocking system call.
func waitLock(ctx context.Context, f vfs.File, name string, exclusive bool) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := vfs.Lock(f, exclusive); !errors.Is(err, vfs.ErrLocked) {
			return err
		}
		if err := par.Pause(ctx, pause); err != nil {
			return fmt.Errorf("%s: waiting for its lock: %w", name, err)
		}
	}
}

// proven has the names of the files of vfs.OS whose locks work.
var proven sync.Map

// tryTwice tries to take the exclusive lock of f with a second descriptor. If this succeeds, locks do not work. It tries each
// name once.
func tryTwice(fsys vfs.FS, f vfs.File, name string) error {
	if fsys != vfs.OS {
		return tryLock(fsys, f, name)
	}
	if _, ok := proven.Load(name); ok {
		return nil
	}
	err := tryLock(fsys, f, name)
	if err == nil {
		proven.Store(name, nil)
	}
	return err
}

func tryLock(fsys vfs.FS, f vfs.File, name string) error {
	second, err := fsys.OpenRW(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was renamed or removed meanwhile; lockFile detects this
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

// Locked reports whether another descriptor holds the exclusive lock of a file, for example for an Update. It does not wait. A
// missing file is not locked. If the lock cannot be tested, the error wraps ErrNoLocks.
func Locked(fsys vfs.FS, name string) (bool, error) {
	fsys = vfs.OrOS(fsys)
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = vfs.Lock(f, false) // take a shared lock, because others may test at the same time
	held := errors.Is(err, vfs.ErrLocked)
	if held {
		err = nil
	}
	return held, errors.Join(err, f.Close())
}

// CheckLocks checks that locks work in a folder, with a temporary file. If they do not work, the error wraps ErrNoLocks.
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
