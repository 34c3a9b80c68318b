package kvtree

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"blobio/internal/vfs"
)

// tempSuffix ends the names of files that WriteFile has not finished.
const tempSuffix = ".kvtmp"

// ReadFile reads the record that a file begins with. A file of no bytes is an empty tree, as in the reference, unless
// Strict. fsys nil is the file system of the operating system.
func ReadFile(fsys vfs.FS, name string, o *Options) (*Tree, error) {
	r, err := ReadFileRecord(fsys, name, o)
	if err != nil {
		return nil, err
	}
	return r.Tree, nil
}

// ReadFileRecord is ReadFile that tells all about the record.
func ReadFileRecord(fsys vfs.FS, name string, o *Options) (*Record, error) {
	f, err := orOS(fsys).Open(name)
	if err != nil {
		return nil, err
	}
	r, err := readFile(f, name, o)
	return r, errors.Join(err, f.Close())
}

// readFile is ReadFileRecord of an open file.
func readFile(f vfs.File, name string, o *Options) (*Record, error) {
	var named Options
	if o != nil {
		named = *o
	}
	named.File = name
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size == 0 && !named.Strict {
		return &Record{Tree: New()}, named.Validate()
	}
	return ReadRecord(f, 0, size, &named)
}

// WriteFile makes the record of t the content of a file: what is there afterwards, also after a crash, is either
// the old content or the new, whole. It writes and syncs a file of another name in the same folder, renames it, and
// syncs the folder. A crash may leave that other file: IsTemp. When the name is locked by Update, use Update: a
// rename takes the file away under the lock.
func WriteFile(fsys vfs.FS, name string, t *Tree) error {
	b, err := Encode(t)
	if err != nil {
		return err
	}
	return writeFile(orOS(fsys), name, b)
}

func writeFile(fsys vfs.FS, name string, b []byte) error {
	temp, err := writeTemp(fsys, name, b)
	if err != nil {
		return err
	}
	if err := fsys.Rename(temp, name); err != nil {
		_ = fsys.Remove(temp)
		return err
	}
	return vfs.SyncParent(fsys, name)
}

// tries is how often another temporary name is tried.
const tries = 8

// writeTemp writes a file of a new name. The name begins with a dot, for the reference takes every file of the folder
// whose name begins with that of a gather for a part of it.
func writeTemp(fsys vfs.FS, name string, b []byte) (string, error) {
	dir, base := filepath.Split(name)
	var err error
	for range tries {
		temp := fmt.Sprintf("%s.%s.%08x%s", dir, base, rand.Uint32(), tempSuffix)
		if err = vfs.WriteFile(fsys, temp, b); err == nil {
			return temp, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return "", err
}

// IsTemp says whether a name is one that WriteFile gives to a file until it is finished. Such a file that is
// not being written now is what a crash left.
func IsTemp(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, ".") && strings.HasSuffix(base, tempSuffix)
}

func orOS(fsys vfs.FS) vfs.FS {
	if fsys == nil {
		return vfs.OS
	}
	return fsys
}
