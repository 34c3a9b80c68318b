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
	next := name + ".next"
	if err := fsys.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	f, err := fsys.Create(next)
	if err != nil {
		return false, err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = fsys.Remove(next) // else the next one removes it
		return false, err
	}
	// Whether a failed rename has happened is not known on every file system.
	err = fsys.Rename(next, name)
	if err == nil && syncDir {
		err = vfs.SyncParent(fsys, name)
	}
	return err != nil, err
}
