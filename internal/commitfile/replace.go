package commitfile

import (
	"errors"
	"io/fs"

	"blobio/internal/vfs"
)

// Replace gives a name new content, whole or not at all. sync is for the content,
// syncDir for the name. unsure says of an error that the rename was tried, so that
// nobody knows which content a reader finds, now or after a crash.
func Replace(fsys vfs.FS, name string, b []byte, sync, syncDir bool) (unsure bool, err error) {
	return ReplaceAll(fsys, []string{name}, b, sync, syncDir)
}

// ReplaceAll is Replace of several names in one directory, which get the same content: at each instant
// each of them has the old content or the new one, none has the new one before all of it is
// written for all, and the first one has it first. unsure says of an error that the first rename was tried.
func ReplaceAll(fsys vfs.FS, names []string, b []byte, sync, syncDir bool) (unsure bool, err error) {
	for i, name := range names {
		if err := prepare(fsys, name+".next", b, sync); err != nil {
			for _, n := range names[:i] {
				_ = fsys.Remove(n + ".next") // else the next one removes it
			}
			return false, err
		}
	}
	// Whether a failed rename has happened is not known on every file system.
	for _, name := range names {
		if err := fsys.Rename(name+".next", name); err != nil {
			return true, err
		}
	}
	if syncDir {
		err = vfs.SyncParent(fsys, names[0])
	}
	return err != nil, err
}

// prepare writes a file anew.
func prepare(fsys vfs.FS, next string, b []byte, sync bool) error {
	if err := fsys.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(next)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = fsys.Remove(next) // else the next one removes it
	}
	return err
}
