package cachedir

import (
	"errors"
	"io/fs"
	"path"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
)

// Delete durably removes the folder of a cached dataset. It removes the application's files first, then the metadata, because
// after a crash only the metadata list the files that are left. Files outside the folder (if Bypass is set) are kept. A missing
// or partly removed folder is no error, since a crash or another rank may have removed it. The folder must be named
// scr.dataset.<id>, because Delete must never remove anything else.
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

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
