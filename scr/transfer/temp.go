package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"blobio/internal/vfs"
)

// Names of files that are not finished: .xfer.<16 hexadecimal digits>.tmp, in the folder of the destination. They do
// not hold its name, which may be as long as names can be.
const (
	tempPrefix = ".xfer."
	tempSuffix = ".tmp"
)

// IsTemp says whether a name is one that an engine gives to a file until it is finished. Such a file that is not being
// written now is what a crash left.
func IsTemp(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// Sweep removes what crashes left in a folder: unfinished files that were not written since before. How many is returned.
// A folder that is not there has none.
func Sweep(fsys vfs.FS, dir string, before time.Time) (int, error) {
	list, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n := 0
	for _, d := range list {
		if d.IsDir() || !IsTemp(d.Name()) {
			continue
		}
		info, ierr := d.Info()
		if ierr == nil && info.ModTime().Before(before) {
			ierr = fsys.Remove(filepath.Join(dir, d.Name()))
			if ierr == nil {
				n++
			}
		}
		if ierr != nil && !errors.Is(ierr, fs.ErrNotExist) {
			err = errors.Join(err, ierr)
		}
	}
	return n, err
}

// createTemp makes a file of a new name in a folder, and the folder if it is not there.
func (e *Engine) createTemp(dir string) (vfs.File, error) {
	for try := 0; ; try++ {
		f, err := e.o.DstFS.Create(filepath.Join(dir, fmt.Sprintf("%s%016x%s", tempPrefix, rand.Uint64(), tempSuffix)))
		switch {
		case err == nil || try == 3:
			return f, err
		case errors.Is(err, fs.ErrNotExist):
			if err := e.mkdirAll(dir); err != nil {
				return nil, err
			}
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
}

// mkdirAll makes a folder and its missing parents, durably if the copies are to be.
func (e *Engine) mkdirAll(dir string) error {
	fsys := e.o.DstFS
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
	if err := fsys.MkdirAll(dir); err != nil || !e.o.Sync {
		return err
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := vfs.SyncParent(fsys, missing[i]); err != nil {
			// The next try has to find them missing.
			for _, d := range missing {
				_ = fsys.Remove(d)
			}
			return err
		}
	}
	return nil
}
