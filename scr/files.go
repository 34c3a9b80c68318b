package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
)

// syncFile makes a file durable and returns its CRC-32 and size.
func syncFile(ctx context.Context, fsys vfs.FS, name string) (uint32, int64, error) {
	f, err := fsys.OpenRW(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return 0, 0, err
	}
	crc, size, err := vfs.Sum(ctx, f, nil)
	if err != nil {
		return 0, 0, err
	}
	return crc, size, vfs.SyncParent(fsys, name)
}

// checkFiles compares the files of this rank with its file map; with sums their bytes too, where the map knows them.
func (j *job) checkFiles(ctx context.Context, d *cachedSet, sums bool) error {
	fsys := j.fileFS(d)
	for _, f := range d.maps.Files() {
		st, err := fsys.Stat(f.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: %w", f.Name, ErrMissing)
		case err != nil:
			return err
		case st.Size() != f.Meta.Size:
			return fmt.Errorf("%s: %w: %d bytes, the file map says %d", f.Name, ErrCorrupt, st.Size(), f.Meta.Size)
		case !f.Meta.Complete:
			return fmt.Errorf("%s: %w: not complete", f.Name, ErrMissing)
		}
		if !sums || !f.Meta.HasCRC {
			continue
		}
		crc, _, err := vfs.SumFile(ctx, fsys, f.Name)
		if err != nil {
			return err
		}
		if crc != f.Meta.CRC {
			return fmt.Errorf("%s: %w: CRC-32 %#x, the file map says %#x", f.Name, ErrChecksum, crc, f.Meta.CRC)
		}
	}
	return nil
}

// groupPrefix begins the names of the redundancy files of a group.
func groupPrefix(dir, group string) string { return path.Join(cachedir.MetaDir(dir), group) }
