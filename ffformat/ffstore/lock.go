package ffstore

import (
	"io"

	"blobio/internal/vfs"
)

// lock keeps other Stores from writing to a directory, as long as it is not closed and
// the process lives. It is nil where there are no such locks: then only what a second Store
// sees in the record tells it of the first.
func lock(fsys vfs.FS, dir string) (io.Closer, error) {
	if fsys != vfs.OS {
		return nil, nil
	}
	return lockDir(dir)
}
