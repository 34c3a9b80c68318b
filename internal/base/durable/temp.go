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

	"blobio/internal/base/vfs"
)

// Names of files that are not finished: .blobio.<16 hexadecimal digits>.tmp, in the directory of the name that they are to get. They do
// not hold it, since it may be as long as names can be. They begin with a dot, since programs take every file whose name begins with
// theirs for a part of their own (KVTree's gather does).
const (
	tempPrefix = ".blobio."
	tempSuffix = ".tmp"
	tempTries  = 8
)

// TempOptions of CreateTemp. The zero value means the defaults.
type TempOptions struct {
	// Owner makes the temporary name depend only on the owner and the final name, so that a file which this owner left when it
	// was killed is replaced. An owner writes a name once at a time. Default: a name that nobody has.
	Owner string
	// Temp is the temporary name, for formats that have one of their own; a file of that name is replaced, too. Default: the name that Owner gives.
	Temp string
	// Check is called immediately before the file gets its name; an error keeps it from that. A writer with a lease asks here
	// whether it still has it, when the file is whole. Default: nothing is asked.
	Check func() error
	Perm  fs.FileMode // before the umask; default 0666
	Mkdir bool        // make the directory if it is missing, as MkdirAll does
	Sync  bool        // Finish syncs the content, Mkdir the names
}

// A Temp is a file that gets its name when it is whole.
type Temp struct {
	vfs.File // nil: closed
	fsys     vfs.FS
	temp     string
	name     string
	check    func() error
	sync     bool
	gone     bool // it has its name, or was removed
}

// CreateTemp begins a file that is to get that name. The caller ends it with Commit, or Finish and Rename, or Discard.
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

// TempName returns the temporary name that an owner's file has until it gets its name; without an owner a new one.
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

// Final returns the name that the file gets.
func (t *Temp) Final() string { return t.name }

// Close implements io.Closer; it may be called again.
func (t *Temp) Close() error {
	if t.File == nil {
		return nil
	}
	f := t.File
	t.File = nil
	return f.Close()
}

// Finish ends the writing: the content is synced, if that was asked for, and the file closed.
func (t *Temp) Finish() (err error) {
	if t.File == nil {
		return nil
	}
	if t.sync {
		err = t.File.Sync()
	}
	return errors.Join(err, t.Close())
}

// Rename gives the file, which is finished, its name. The directory is not synced. After an error the caller calls Discard; an UnsureError says
// that the file may have its name.
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

// Commit is Finish and Rename; it discards the file if either fails.
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

// Discard removes the file, unless it has its name. Sweep removes a file that Discard could not.
func (t *Temp) Discard() {
	if t == nil || t.gone {
		return
	}
	t.gone = true
	_ = t.Close()
	_ = t.fsys.Remove(t.temp)
}

// IsTemp reports whether a name is one of an unfinished file. If nobody is writing the file now, a crash left it.
func IsTemp(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// Sweep removes the remains of crashes in a directory: temporary files that were not written since before. n is their number.
// A directory that is not there has none.
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

// Remove removes a file if it is there.
func Remove(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveIf removes a file of a name that other writers use, too, if goes reports true for it. It first gives the file the name mine, which nobody else uses, so that
// goes looks at the very file that is removed; if the file is to stay, or goes fails, it gets its own name back. A file that is not there is no error.
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

// MkdirAll makes a directory and its missing parents; sync: durably. After an error of a sync those that it made are removed again, so that the
// next try finds them missing.
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
	for i := len(missing) - 1; i >= 0; i-- {
		if err := vfs.SyncParent(fsys, missing[i]); err != nil {
			for _, d := range missing {
				_ = fsys.Remove(d)
			}
			return err
		}
	}
	return nil
}
