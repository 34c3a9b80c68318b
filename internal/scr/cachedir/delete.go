package cachedir

import (
	"errors"
	"io/fs"
	"path"

	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// Delete removes the folder of a cached dataset, durably: first the files of the application in it, then its metadata,
// so that what is left after a crash is known. Files elsewhere that its maps list (those of a dataset with Bypass) stay.
// A folder that is not there, or half removed, by a crash or just now by another rank, is no error. The name of the
// folder must be scr.dataset.<id>, so that nothing else is ever removed.
func Delete(fsys vfs.FS, dir string) error {
	if _, ok := datasetID(path.Base(dir)); !ok {
		return fault.Usage("delete %.200q: want a folder %s<id>", dir, datasetPrefix)
	}
	list, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Name() == metaName {
			continue
		}
		if err := removeAll(fsys, path.Join(dir, e.Name()), e.IsDir()); err != nil {
			return err
		}
	}
	if err := gone(fsys.SyncDir(dir)); err != nil {
		return err
	}
	if err := removeAll(fsys, MetaDir(dir), true); err != nil {
		return err
	}
	if err := gone(fsys.Remove(dir)); err != nil {
		return err
	}
	return gone(vfs.SyncParent(fsys, dir))
}

// RemoveAll removes a folder and what is in it. One that is not there is no error.
func RemoveAll(fsys vfs.FS, dir string) error { return removeAll(fsys, dir, true) }

// removeAll removes a file, or a folder with what is in it. Links are removed, not followed.
func removeAll(fsys vfs.FS, name string, dir bool) error {
	if dir {
		list, err := fsys.ReadDir(name)
		if err != nil {
			return gone(err)
		}
		for _, e := range list {
			if err := removeAll(fsys, path.Join(name, e.Name()), e.IsDir()); err != nil {
				return err
			}
		}
	}
	return gone(fsys.Remove(name))
}

// gone takes the error that something is not there for what it is here: done.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
