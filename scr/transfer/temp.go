package transfer

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

// createTemp makes a file in the folder of a destination, and the folder if it is not there. The name is new, unless the
// batch has an owner: then it is that of the owner and the destination, and what an owner that was killed left there is
// replaced. Nobody may do more with the file than with its source, and with what it replaces.
func (b *batch) createTemp(j *Job) (vfs.File, error) {
	e, dst, dir := b.e, j.Dst, filepath.Dir(j.Dst)
	perm := fs.FileMode(0o666)
	if j.In == nil {
		st, err := e.o.FS.Stat(j.Src)
		if err != nil {
			return nil, err
		}
		perm = st.Mode().Perm() | 0o600
	}
	switch st, err := vfs.Lstat(e.o.DstFS, dst); {
	case err == nil && st.Mode().IsRegular():
		perm &= st.Mode().Perm() | 0o600
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	for try := 0; ; try++ {
		id := rand.Uint64()
		if b.owner != "" {
			h := fnv.New64a()
			_, _ = io.WriteString(h, b.owner+"\x00"+dst)
			id = h.Sum64()
		}
		name := filepath.Join(dir, fmt.Sprintf("%s%016x%s", tempPrefix, id, tempSuffix))
		f, err := vfs.CreateMode(e.o.DstFS, name, perm)
		switch {
		case err == nil || try == 3:
			return f, err
		case errors.Is(err, fs.ErrNotExist):
			if err := e.mkdirAll(dir); err != nil {
				return nil, err
			}
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		case b.owner != "":
			if err := e.o.DstFS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
}

// mkdirAll makes a folder and its missing parents, durably if the copies are to be.
func (e *Engine) mkdirAll(dir string) error {
	if !e.o.Sync {
		return e.o.DstFS.MkdirAll(dir)
	}
	return vfs.MkdirDurable(e.o.DstFS, dir)
}
