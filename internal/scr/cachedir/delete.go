package cachedir

import (
	"errors"
	"io/fs"
	"path"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
)

// Delete removes the folder of a cached dataset, durably: first the files of the application in it, then its metadata,
// which still list the files that a crash leaves. Files elsewhere that its maps list (of a dataset with Bypass) stay.
// A folder that is not there, or half removed, by a crash or just now by another rank, is no error. The name of the
// folder must be scr.dataset.<id>, so that nothing else is ever removed.
func Delete(fsys vfs.FS, dir string) error {
	if _, ok := record.DatasetID(path.Base(dir)); !ok {
		return fault.Usage("cannot delete %.200q, want a folder scr.dataset.<id>", dir)
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
		if err := vfs.RemoveAll(fsys, path.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if err := gone(fsys.SyncDir(dir)); err != nil {
		return err
	}
	if err := vfs.RemoveAll(fsys, MetaDir(dir)); err != nil {
		return err
	}
	if err := gone(fsys.Remove(dir)); err != nil {
		return err
	}
	return gone(vfs.SyncParent(fsys, dir))
}

// gone turns an error that a file is not there into nil: it is removed already.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
