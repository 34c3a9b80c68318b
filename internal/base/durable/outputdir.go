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

// DirOptions are the options of NewOutputDir. The zero value means the defaults.
type DirOptions struct {
	// Replace returns nil if the existing directory may be replaced. Links and files are never replaced. Without Replace, an
	// existing name is ErrExist.
	Replace func(dir string) error
	NoSync  bool // do not sync content or names
}

// An OutputDir is an Output of many files: a directory that gets its name when it is whole.
type OutputDir struct {
	*Files
	name  string
	o     DirOptions
	lease *Lease
	named bool
	ended bool
}

// Files writes into a new directory. It is safe for concurrent use.
type Files struct {
	fsys vfs.FS
	dir  string
	sync bool
	mu   sync.Mutex
	dirs []string // directories to sync
}

// FilesIn returns Files for a directory that another rank has made and commits.
func FilesIn(fsys vfs.FS, dir string, sync bool) *Files {
	return &Files{fsys: fsys, dir: dir, sync: sync, dirs: []string{dir}}
}

// Mkdir makes a directory. Its parent must exist.
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

// Write creates a file with this content.
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

// NewOutputDir begins an output directory. The parent directory must exist. If another process is writing a directory of this
// name, the error is an InUseError. NewOutputDir removes files that dead writers of this name left.
func NewOutputDir(ctx context.Context, fsys vfs.FS, name string, o DirOptions) (*OutputDir, error) {
	name = filepath.Clean(name)
	if base := filepath.Base(name); base == "." || base == ".." || base == string(filepath.Separator) {
		return nil, fault.Usage("output %q, want the name of a directory", name)
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
		err = l.Settle() // a former holder writes to a removed directory
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

// Temp returns the hidden name, for other ranks.
func (o *OutputDir) Temp() string { return o.dir }

// free reports whether the name may be used, and whether a directory of this name exists.
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

// Commit gives the directory its name and then removes the replaced directory. After an error other than an UnsureError, the name
// is unchanged.
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
	there, err := o.free() // a program that takes no lease may have created the directory
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
		o.named = errors.As(err, new(*UnsureError)) // the hidden name may belong to either directory
		return err
	}
	o.named = !there
	if !o.o.NoSync {
		if err := vfs.SyncParent(o.fsys, o.name); err != nil {
			o.named = true // a power failure may undo the rename
			return &UnsureError{Name: o.name, Renamed: true, Err: err}
		}
	}
	return nil
}

// Discard removes the output, unless Commit was called first. The next writer removes files that Discard cannot.
func (o *OutputDir) Discard() {
	if o != nil && !o.ended {
		o.end()
	}
}

func (o *OutputDir) end() {
	o.ended = true
	if !o.named {
		_ = vfs.RemoveAll(o.fsys, o.dir) // the new files or, after an exchange of the names, the old files
	}
	_ = o.lease.Release() // a lease that cannot be removed ends with the process
}
