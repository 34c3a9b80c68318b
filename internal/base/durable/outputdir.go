package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// DirOptions of NewOutputDir. The zero value means the defaults.
type DirOptions struct {
	// Replace reports whether the directory that has the name may be replaced: nil if it may. Links and files never are.
	// Default: what is there is ErrExist.
	Replace func(dir string) error
	NoSync  bool // sync neither the content nor the names
}

// An OutputDir is a directory that appears under its name when it is whole: as an Output is, but of many files.
type OutputDir struct {
	*Files
	name  string
	o     DirOptions
	lease *Lease
	named bool
	ended bool
}

// Files are what is written into a directory that is not there yet. It is safe for concurrent use.
type Files struct {
	fsys vfs.FS
	dir  string
	sync bool
	mu   sync.Mutex
	dirs []string // to sync
}

// FilesIn writes into a directory that somebody else has made, and commits: another rank.
func FilesIn(fsys vfs.FS, dir string, sync bool) *Files {
	return &Files{fsys: fsys, dir: dir, sync: sync, dirs: []string{dir}}
}

// Mkdir makes a directory, whose parent is there.
func (f *Files) Mkdir(name string) error {
	name = filepath.Join(f.dir, name)
	if err := f.fsys.Mkdir(name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirs = append(f.dirs, name)
	return nil
}

// Write makes a file with this content.
func (f *Files) Write(name string, b []byte) error {
	name = filepath.Join(f.dir, name)
	if f.sync {
		return vfs.WriteFile(f.fsys, name, b)
	}
	return vfs.WriteFile(vfs.NoSync(f.fsys), name, b)
}

// syncDirs makes the names of all files durable.
func (f *Files) syncDirs() error {
	if !f.sync {
		return nil
	}
	for _, d := range f.dirs {
		if err := f.fsys.SyncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// NewOutputDir begins the output of that name, whose parent must be there. A name that somebody is writing to is an
// InUseError. NewOutputDir removes files that dead writers of this output left.
func NewOutputDir(ctx context.Context, fsys vfs.FS, name string, o DirOptions) (*OutputDir, error) {
	name = filepath.Clean(name)
	if base := filepath.Base(name); base == "." || base == ".." || base == string(filepath.Separator) {
		return nil, fault.Usage("the output %q does not name a directory", name)
	}
	l, err := Acquire(ctx, fsys, name, LeaseOptions{})
	if err != nil {
		return nil, err
	}
	out := &OutputDir{Files: FilesIn(fsys, HiddenName(name, l.ID()), !o.NoSync), name: name, o: o, lease: l}
	if err = SweepHidden(fsys, name); err == nil {
		_, err = out.free()
	}
	if err == nil {
		err = l.Settle() // a former holder writes to a directory that is gone
	}
	if err == nil {
		err = fsys.Mkdir(out.dir)
	}
	if err != nil {
		out.Discard()
		return nil, err
	}
	return out, nil
}

// Temp is the hidden name, for other ranks.
func (o *OutputDir) Temp() string { return o.dir }

// free reports whether the name may be taken, and whether a directory has it.
func (o *OutputDir) free() (there bool, err error) {
	mode, err := typeOf(o.fsys, o.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !mode.IsDir():
		return true, &keptError{"the output " + o.name + " exists and is not a directory"}
	case o.o.Replace == nil:
		return true, fmt.Errorf("the output %s %w", o.name, fault.ErrExist)
	}
	return true, o.o.Replace(o.name)
}

// Commit gives the directory its name. A directory that it replaces is removed afterwards. After an error that is no UnsureError
// nothing has changed under that name.
func (o *OutputDir) Commit() error {
	if o.ended {
		return fmt.Errorf("the output %s: %w", o.name, fault.ErrBroken)
	}
	err := o.commit()
	o.end()
	return err
}

func (o *OutputDir) commit() error {
	err := o.syncDirs()
	if err == nil {
		err = o.lease.Check()
	}
	if err != nil {
		return err
	}
	there, err := o.free() // of programs that know nothing of leases
	if err != nil {
		return err
	}
	if there {
		if err = vfs.Exchange(o.fsys, o.dir, o.name); errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("the file system cannot replace a directory in one step; remove %s first: %w", o.name, err)
		}
	} else {
		err = Move(o.fsys, o.dir, o.name)
	}
	if err != nil {
		o.named = errors.As(err, new(*UnsureError)) // nobody knows which of the two the hidden name has
		return err
	}
	o.named = !there
	if !o.o.NoSync {
		if err := vfs.SyncParent(o.fsys, o.name); err != nil {
			o.named = true // a power failure may give the name back to what was there
			return &UnsureError{Name: o.name, Renamed: true, Err: err}
		}
	}
	return nil
}

// Discard removes the output, unless Commit has come first. The next writer removes files that Discard cannot.
func (o *OutputDir) Discard() {
	if o != nil && !o.ended {
		o.end()
	}
}

func (o *OutputDir) end() {
	o.ended = true
	if !o.named {
		_ = vfs.RemoveAll(o.fsys, o.dir) // the files that were written, or after an exchange those that were replaced
	}
	_ = o.lease.Release() // one that could not be removed ends with the process
}
