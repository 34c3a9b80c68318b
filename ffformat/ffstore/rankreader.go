package ffstore

import (
	"errors"
	"io/fs"

	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// openRank opens the file of a rank and makes sure that it is of this checkpoint. The caller closes the file.
func openRank(fsys vfs.FS, dir string, e *entry, rank int) (*ffformat.Reader, vfs.File, error) {
	f, size, err := openRankFile(fsys, dir, e, rank)
	if err != nil {
		return nil, nil, err
	}
	r, err := e.reader(f, size)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return r, f, nil
}

// openRankFile opens the file of a rank, whatever is in it.
func openRankFile(fsys vfs.FS, dir string, e *entry, rank int) (f vfs.File, size int64, err error) {
	name := fileName(dir, e.Slot, rank)
	f, err = fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fault.At(name, -1, "", ErrMissing, "the file of rank %d of checkpoint %d is not there", rank, e.ID)
	}
	if err != nil {
		return nil, 0, err
	}
	if size, err = f.Size(); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}

// reader reads a file that must be the one of this checkpoint and rank.
func (e *entry) reader(f vfs.File, size int64) (*ffformat.Reader, error) {
	r, err := ffformat.NewReader(f, size, f.Name(), nil)
	if err != nil {
		return nil, err
	}
	return r, e.match(r.File())
}
