package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// OutputOptions of NewOutput. The zero value means the defaults.
type OutputOptions struct {
	Force     bool         // replace a file or a link that has the name
	NoSync    bool         // sync neither the content nor the name
	NoSyncDir bool         // sync the content only
	Also      func() error // what else must hold for the name to be taken; asked at the beginning and at Commit
	Lease     LeaseOptions
}

// An Output is a file that appears under its name when it is whole. It is written under a hidden name, by the holder of the
// lease of its name. One goroutine may use it at a time, the File in it any number.
type Output struct {
	fsys  vfs.FS
	name  string
	temp  string
	o     OutputOptions
	lease *Lease
	file  vfs.File // nil: closed
	named bool     // it has its name
	ended bool
	err   error // of Commit
}

// NewOutput begins the output of that name, whose directory must be there. If somebody is writing to the name, the error is an
// InUseError; if something has the name, it is ErrExist, unless Force lets it be replaced (see Free). NewOutput removes
// files that dead writers of this output left.
func NewOutput(ctx context.Context, fsys vfs.FS, name string, o OutputOptions) (out *Output, err error) {
	if _, base := filepath.Split(name); base == "" || base == "." || base == ".." {
		return nil, fault.Usage("the output %q does not name a file", name)
	}
	l, err := Acquire(ctx, fsys, name, o.Lease)
	if err != nil {
		return nil, err
	}
	out = &Output{fsys: fsys, name: name, temp: HiddenName(name, l.ID()), o: o, lease: l}
	// The package comment gives the order: look which state is in force only when no former holder can change it.
	if err = SweepHidden(fsys, name); err == nil {
		err = out.free()
	}
	if err == nil {
		err = l.Settle() // a former holder can only have a hidden file open that is gone
	}
	if err == nil {
		out.file, err = fsys.Create(out.temp)
	}
	if err != nil {
		out.Discard()
		return nil, err
	}
	return out, nil
}

// File is the file to write. The caller does not close it.
func (o *Output) File() vfs.File { return o.file }

// Temp returns the hidden name, for other ranks to open. No name but this one may be opened for writing.
func (o *Output) Temp() string { return o.temp }

func (o *Output) free() error {
	if o.o.Also != nil {
		if err := o.o.Also(); err != nil {
			return err
		}
	}
	return Free(o.fsys, o.name, o.o.Force)
}

// Commit gives the file its name. After an error that is no UnsureError nothing has changed under that name, and
// nothing is left of the output. Called again it says the same again; after Discard it is ErrBroken.
func (o *Output) Commit() error {
	if o.ended {
		return o.err
	}
	o.err = o.commit()
	o.end()
	return o.err
}

func (o *Output) commit() (err error) {
	if !o.o.NoSync {
		err = o.file.Sync()
	}
	err = errors.Join(err, o.file.Close())
	o.file = nil
	if err == nil {
		err = o.lease.Check()
	}
	if err == nil {
		err = o.free() // of programs that know nothing of leases
	}
	if err != nil {
		return err
	}
	if err := o.fsys.Rename(o.temp, o.name); err != nil {
		if _, serr := o.fsys.Stat(o.temp); serr == nil {
			return err // it still has its hidden name
		}
		if lost := o.lease.Check(); errors.As(lost, new(*InUseError)) {
			return fmt.Errorf("%w (%w)", lost, err)
		}
		return &UnsureError{Name: o.name, Err: err} // on some file systems a rename that failed has happened
	}
	o.named = true
	if !o.o.NoSync && !o.o.NoSyncDir {
		if err := vfs.SyncParent(o.fsys, o.name); err != nil {
			return &UnsureError{Name: o.name, Renamed: true, Err: err}
		}
	}
	return nil
}

// Discard removes the output, unless Commit has come first. The next writer removes files that Discard cannot.
func (o *Output) Discard() {
	if o == nil || o.ended {
		return
	}
	o.err = fmt.Errorf("the output %s: %w", o.name, fault.ErrBroken)
	o.end()
}

func (o *Output) end() {
	o.ended = true
	if o.file != nil {
		_ = o.file.Close()
		o.file = nil
	}
	if !o.named {
		_ = o.fsys.Remove(o.temp) // gone if it has its name after all
	}
	_ = o.lease.Release() // one that could not be removed ends with the process
}

// An UnsureError says that an output has got its name, or may have, but that this may not outlive a power failure.
type UnsureError struct {
	Name    string
	Renamed bool // it has
	Err     error
}

// Error implements error.
func (e *UnsureError) Error() string {
	if e.Renamed {
		return e.Name + ": the output is complete, but a power failure may undo its rename: " + e.Err.Error()
	}
	return e.Name + ": the rename of the output may or may not have succeeded: " + e.Err.Error()
}

// ErrUnsure is the class of errors after which something may be in force, or not. Errors of other packages are of it too.
var ErrUnsure = errors.New("the outcome is unknown")

// Is implements errors.Is.
func (e *UnsureError) Is(target error) bool { return target == ErrUnsure }

// unsure makes an UnsureError of err, unless it is one.
func unsure(name string, renamed bool, err error) error {
	if errors.As(err, new(*UnsureError)) {
		return err
	}
	return &UnsureError{Name: name, Renamed: renamed, Err: err}
}

// Unwrap returns the error that occurred.
func (e *UnsureError) Unwrap() error { return e.Err }

// ErrKept is met beside ErrExist where Force changes nothing.
var ErrKept = errors.New("not an ordinary file, so never replaced")

type keptError struct{ text string }

func (e *keptError) Error() string   { return e.text }
func (e *keptError) Unwrap() []error { return []error{fault.ErrExist, ErrKept} }

// Free returns ErrExist if an output may not take that name: something is there, be it a link to nothing, and is not
// to be replaced. Force replaces ordinary files and links, not what a link leads to, and nothing else (ErrKept).
func Free(fsys vfs.FS, name string, force bool) error {
	mode, err := typeOf(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case mode.IsDir():
		return &keptError{"the output " + name + " is a directory, want the name of a file"}
	case !mode.IsRegular() && mode&fs.ModeSymlink == 0:
		return &keptError{"the output " + name + " exists and is not an ordinary file"}
	case !force:
		return fmt.Errorf("the output %s %w", name, fault.ErrExist)
	}
	return nil
}

// typeOf returns the type of the file with a name; a link is not followed.
func typeOf(fsys vfs.FS, name string) (fs.FileMode, error) {
	info, err := fsys.Stat(name)
	if err == nil && info.Mode().IsRegular() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err // a link to a file is replaced as a file is
	}
	entries, lerr := fsys.ReadDir(filepath.Dir(name))
	if lerr != nil {
		return 0, lerr
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(name) {
			return e.Type(), nil
		}
	}
	if err != nil {
		return 0, err
	}
	return info.Mode().Type(), nil // listed in another spelling
}
