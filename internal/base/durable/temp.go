package durable

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// Temporary names are .blobio.<16 hexadecimal digits>.tmp, in the directory of the final name. They do not contain the final
// name, which may have the maximum length. They begin with a dot, because some programs (KVTree's gather) read all files that
// begin with a certain prefix.
const (
	tempPrefix = ".blobio."
	tempSuffix = ".tmp"
	tempTries  = 8
)

// TempOptions are the options of CreateTemp. The zero value means the defaults.
type TempOptions struct {
	// Owner makes the temporary name depend only on the owner and the final name. So a file that this owner left when it was killed
	// is replaced. An owner must not write a name twice at once. Default: a unique name.
	Owner string
	// Temp is the temporary name, for formats that define temporary names. An existing file of that name is replaced. Default:
	// see Owner.
	Temp string
	// Check is called when the file is whole, just before the rename; an error prevents the rename. A writer with a lease checks
	// here that it still has the lease. Default: none.
	Check func() error
	Perm  fs.FileMode // permissions before the umask; default 0666
	Mkdir bool        // create the directory and its parents if they are missing
	Sync  bool        // Finish syncs the content, Mkdir syncs the names
}

// A Temp is a file that gets its final name when it is whole.
type Temp struct {
	vfs.File // nil: closed
	fsys     vfs.FS
	temp     string
	name     string
	check    func() error
	sync     bool
	gone     bool // renamed or removed
}

// CreateTemp begins a file with this final name. The caller ends it with Commit, with Finish and Rename, or with Discard.
func CreateTemp(fsys vfs.FS, name string, o TempOptions) (*Temp, error) {
	if o.Perm == 0 {
		o.Perm = 0o666
	}
	dir := filepath.Dir(name)
	for try := 0; ; try++ {
		temp := o.Temp
		if temp == "" {
			temp = TempName(name, o.Owner)
		}
		f, err := vfs.CreateMode(fsys, temp, o.Perm)
		switch {
		case err == nil:
			return &Temp{File: f, fsys: fsys, temp: temp, name: name, check: o.Check, sync: o.Sync}, nil
		case try == tempTries:
			return nil, err
		case errors.Is(err, fs.ErrNotExist) && o.Mkdir:
			if err := MkdirAll(fsys, dir, o.Sync); err != nil {
				return nil, err
			}
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		case o.Owner != "" || o.Temp != "":
			if err := Remove(fsys, temp); err != nil {
				return nil, err
			}
		}
	}
}

// TempName returns the temporary name of an owner's file. If owner is empty, it returns a unique name.
func TempName(name, owner string) string {
	id := rand.Uint64()
	if owner != "" {
		h := fnv.New64a()
		_, _ = io.WriteString(h, owner+"\x00"+filepath.Base(name))
		id = h.Sum64()
	}
	return filepath.Join(filepath.Dir(name), fmt.Sprintf("%s%016x%s", tempPrefix, id, tempSuffix))
}

// Name returns the temporary name.
func (t *Temp) Name() string { return t.temp }

// Final returns the final name.
func (t *Temp) Final() string { return t.name }

// Close implements io.Closer. It may be repeated.
func (t *Temp) Close() error {
	if t.File == nil {
		return nil
	}
	f := t.File
	t.File = nil
	return f.Close()
}

// Finish syncs the content, if requested, and closes the file.
func (t *Temp) Finish() (err error) {
	if t.File == nil {
		return nil
	}
	if t.sync {
		err = t.File.Sync()
	}
	return errors.Join(err, t.Close())
}

// Rename gives the finished file its final name. It does not sync the directory. After an error the caller calls Discard. After
// an UnsureError the file may have its final name.
func (t *Temp) Rename() error {
	if t.check != nil {
		if err := t.check(); err != nil {
			return err
		}
	}
	err := moved(t.fsys, t.temp, t.name, vfs.RenameFile(t.fsys, t.temp, t.name))
	t.gone = err == nil
	return err
}

// Commit calls Finish and Rename. It discards the file on an error.
func (t *Temp) Commit() error {
	err := t.Finish()
	if err == nil {
		err = t.Rename()
	}
	if err != nil {
		t.Discard()
	}
	return err
}

// Discard removes the file unless it has its final name. Sweep removes a file that Discard could not.
func (t *Temp) Discard() {
	if t == nil || t.gone {
		return
	}
	t.gone = true
	_ = t.Close()
	_ = t.fsys.Remove(t.temp)
}

// IsTemp reports whether a name is the temporary name of a file that is being written or that a crash left.
func IsTemp(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// Sweep removes temporary files of a directory that were last written before the time before. It returns their number n. A
// missing directory has none.
func Sweep(fsys vfs.FS, dir string, before time.Time) (n int, err error) {
	list, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, d := range list {
		if d.IsDir() || !IsTemp(d.Name()) {
			continue
		}
		info, ierr := d.Info()
		if ierr == nil && info.ModTime().Before(before) {
			if ierr = fsys.Remove(filepath.Join(dir, d.Name())); ierr == nil {
				n++
			}
		}
		if ierr != nil && !errors.Is(ierr, fs.ErrNotExist) {
			err = errors.Join(err, ierr)
		}
	}
	return n, err
}

// Remove removes a file. A missing file is no error.
func Remove(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveIf removes a file, whose name other writers may use, if goes returns true. It first renames the file to the unique name
// mine, so that RemoveIf removes exactly the file that goes has checked. If goes returns false or fails, RemoveIf restores the
// name. A missing file is no error.
func RemoveIf(fsys vfs.FS, name, mine string, goes func() (bool, error)) error {
	if err := vfs.RenameFile(fsys, name, mine); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if yes, err := goes(); !yes || err != nil {
		return errors.Join(err, fsys.Rename(mine, name))
	}
	return Remove(fsys, mine)
}

// MkdirAll creates a directory and its missing parents, durably if sync. If a sync fails, it removes the new directories, so that
// the next call creates them again.
func MkdirAll(fsys vfs.FS, dir string, sync bool) error {
	var missing []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		_, err := fsys.Stat(d)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(d) == d {
			return err
		}
		missing = append(missing, d)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := fsys.MkdirAll(dir); err != nil || !sync {
		return err
	}
	errs := make([]error, len(missing))
	par.Do(8, len(missing), func(i int) { errs[i] = vfs.SyncParent(fsys, missing[i]) }) // at once, for the same reason as in Group.Finish
	if err := errors.Join(errs...); err != nil {
		for _, d := range missing {
			_ = fsys.Remove(d)
		}
		return err
	}
	return nil
}
