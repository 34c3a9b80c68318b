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

// OutputOptions are the options of NewOutput. The zero value means the defaults.
type OutputOptions struct {
	Force     bool         // replace an existing file or link
	NoSync    bool         // do not sync content or name
	NoSyncDir bool         // sync the content only
	Also      func() error // further condition for the use of the name, checked by NewOutput and Commit
	Lease     LeaseOptions
}

// An Output is a file that gets its name when it is whole. The holder of the name's lease writes it under a hidden name. Only one
// goroutine may use an Output at a time; its File is safe for concurrent use.
type Output struct {
	fsys  vfs.FS
	name  string
	temp  string
	o     OutputOptions
	lease *Lease
	file  vfs.File // nil: closed
	named bool     // the file has its name
	ended bool
	err   error // error of Commit
}

// NewOutput begins an output file. The directory must exist. If another process is writing a file of this name, the error is an
// InUseError. If the file exists, the error is ErrExist, unless Force allows its replacement (see Free). NewOutput removes files
// that dead writers of this name left.
func NewOutput(ctx context.Context, fsys vfs.FS, name string, o OutputOptions) (out *Output, err error) {
	if _, base := filepath.Split(name); base == "" || base == "." || base == ".." {
		return nil, fault.Usage("output %q, want the name of a file", name)
	}
	l, err := Acquire(ctx, fsys, name, o.Lease)
	if err != nil {
		return nil, err
	}
	out = &Output{fsys: fsys, name: name, temp: HiddenName(name, l.ID()), o: o, lease: l}
	// A new holder reads the state only when no former holder can change it; see the package comment.
	if err = SweepHidden(fsys, name); err == nil {
		err = out.free()
	}
	if err == nil {
		err = l.Settle() // a former holder can only have a removed hidden file open
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

// File returns the file to write. The caller must not close it.
func (o *Output) File() vfs.File { return o.file }

// Temp returns the hidden name for other ranks. Other ranks may open the file for writing only under this name.
func (o *Output) Temp() string { return o.temp }

func (o *Output) free() error {
	if o.o.Also != nil {
		if err := o.o.Also(); err != nil {
			return err
		}
	}
	return Free(o.fsys, o.name, o.o.Force)
}

// Commit gives the file its name. After an error other than an UnsureError, the name is unchanged and the output is removed.
// Another call returns the same result; after Discard it returns ErrBroken.
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
		err = o.free() // a program that takes no lease may have created the file
	}
	if err != nil {
		return err
	}
	if err := o.fsys.Rename(o.temp, o.name); err != nil {
		if _, serr := o.fsys.Stat(o.temp); serr == nil {
			return err // the file still has its hidden name
		}
		if lost := o.lease.Check(); errors.As(lost, new(*InUseError)) {
			return fmt.Errorf("%w (%w)", lost, err)
		}
		return &UnsureError{Name: o.name, Err: err} // on some file systems a failed rename may have happened
	}
	o.named = true
	if !o.o.NoSync && !o.o.NoSyncDir {
		if err := vfs.SyncParent(o.fsys, o.name); err != nil {
			return &UnsureError{Name: o.name, Renamed: true, Err: err}
		}
	}
	return nil
}

// Discard removes the output, unless Commit was called first. The next writer removes files that Discard cannot.
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
		_ = o.fsys.Remove(o.temp) // a renamed file does not have this name
	}
	_ = o.lease.Release() // a lease that cannot be removed ends with the process
}

// An UnsureError means that an output has or may have its name, and that a power failure may undo the rename.
type UnsureError struct {
	Name    string
	Renamed bool // the output has its name
	Err     error
}

// Error implements error.
func (e *UnsureError) Error() string {
	if e.Renamed {
		return e.Name + ": the output is complete, but a power failure may undo its rename: " + e.Err.Error()
	}
	return e.Name + ": the rename of the output may or may not have succeeded: " + e.Err.Error()
}

// ErrUnsure is the class of errors after which a change may or may not be in force.
var ErrUnsure = errors.New("the outcome is unknown")

// Is implements errors.Is.
func (e *UnsureError) Is(target error) bool { return target == ErrUnsure }

// unsure wraps err in an UnsureError, unless err is an UnsureError.
func unsure(name string, renamed bool, err error) error {
	if errors.As(err, new(*UnsureError)) {
		return err
	}
	return &UnsureError{Name: name, Renamed: renamed, Err: err}
}

// Unwrap returns the error that occurred.
func (e *UnsureError) Unwrap() error { return e.Err }

// ErrKept accompanies ErrExist if the existing file is not replaced even with Force.
var ErrKept = errors.New("not an ordinary file, so it is never replaced")

type keptError struct{ text string }

func (e *keptError) Error() string   { return e.text }
func (e *keptError) Unwrap() []error { return []error{fault.ErrExist, ErrKept} }

// Free returns ErrExist if the name exists, even as a dangling link, and must not be replaced. Force replaces an ordinary file or
// the link itself. Nothing else is replaced (ErrKept).
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

// typeOf returns the type of a file. It does not follow a link.
func typeOf(fsys vfs.FS, name string) (fs.FileMode, error) {
	info, err := fsys.Stat(name)
	if err == nil && info.Mode().IsRegular() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err // a link to a file is replaced like a file
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
	return info.Mode().Type(), nil // the listing spells the name differently
}
