package kvtree

import (
	"errors"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// ReadFile reads the record that a file begins with. A file of no bytes is an empty tree, as in the reference, unless
// Strict. fsys nil is the file system of the operating system.
func ReadFile(fsys vfs.FS, name string, o *Options) (*Tree, error) {
	r, err := ReadFileRecord(fsys, name, o)
	if err != nil {
		return nil, err
	}
	return r.Tree, nil
}

// ReadFileRecord is ReadFile that returns the record with all its fields.
func ReadFileRecord(fsys vfs.FS, name string, o *Options) (*Record, error) {
	f, err := vfs.OrOS(fsys).Open(name)
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

// WriteFile makes the record of t the content of a file. Afterwards, also after a crash, the file has either the
// old content or the new, whole. WriteFile writes and syncs a hidden temporary file in the same folder, renames it, and syncs
// the folder. A crash may leave the temporary file. Do not use it for a file that Update locks: the rename would take
// the file away under the lock. After an error of the rename or of the folder's sync it may not be known which
// content is there; the error then says so. fsys nil is the file system of the operating system.
func WriteFile(fsys vfs.FS, name string, t *Tree) error {
	b, err := Encode(t)
	if err != nil {
		return err
	}
	return durable.Replace(vfs.OrOS(fsys), name, b, durable.ReplaceOptions{Sync: true, SyncDir: true})
}
