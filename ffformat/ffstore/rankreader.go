package ffstore

import (
	"errors"
	"io/fs"

	"blobio/ffformat"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// RankReader reads one rank's file of a checkpoint.
type RankReader struct {
	*ffformat.Reader
	close func() error
}

// Close releases the file.
func (r *RankReader) Close() error { return r.close() }

// openRank opens the file of a rank and makes sure that it is of this checkpoint.
func openRank(fsys vfs.FS, dir string, e *entry, rank int) (*RankReader, error) {
	name := FileName(dir, e.Slot, rank)
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.At(name, -1, "", ErrMissing, "the file of rank %d of checkpoint %d is not there", rank, e.ID)
	}
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err == nil {
		var r *ffformat.Reader
		if r, err = ffformat.NewReader(f, size, name, nil); err == nil {
			if err = e.match(r.File()); err == nil {
				return &RankReader{r, f.Close}, nil
			}
		}
	}
	return nil, errors.Join(err, f.Close())
}
