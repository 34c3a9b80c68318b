package kvtree

import (
	"errors"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// ReadFile reads the record at the beginning of a file. As in SCR, an empty file is an empty tree, unless Options.Strict is set.
// A nil fsys means the operating system's file system.
func ReadFile(fsys vfs.FS, name string, o *Options) (*Tree, error) {
	r, err := ReadFileRecord(fsys, name, o)
	if err != nil {
		return nil, err
	}
	return r.Tree, nil
}

// ReadFileRecord is like ReadFile, but returns the record with all its fields.
func ReadFileRecord(fsys vfs.FS, name string, o *Options) (*Record, error) {
	f, err := vfs.OrOS(fsys).Open(name)
	if err != nil {
		return nil, err
	}
	r, err := readFile(f, name, o)
	return r, errors.Join(err, f.Close())
}

// readFile reads the record of an open file.
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

// WriteFile replaces the content of a file by the record of t. Afterwards, also after a crash, the file has either the old
// content or the new content. WriteFile writes and syncs a hidden temporary file in the same folder, renames it, and syncs the
// folder. A crash may leave the temporary file. Do not use it for a file that Update locks, because the rename would replace the
// locked file. If the rename or the sync of the folder fails, the file may have the old or the new content, and the error
// contains this warning. A nil fsys means the operating system's file system.
func WriteFile(fsys vfs.FS, name string, t *Tree) error {
	b, err := Encode(t)
	if err != nil {
		return err
	}
	return durable.Replace(vfs.OrOS(fsys), name, b, durable.ReplaceOptions{Sync: true, SyncDir: true})
}
