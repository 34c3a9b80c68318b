package versioned

import (
	"blobio/ffformat"
	"blobio/internal/vfs"
)

// reader reads the chunks of one data file, or of one block.
type reader struct {
	*ffformat.Reader
	f    vfs.File
	used int64
	refs int

	data []byte // stored chunks in memory, if there is no Reader
}

// ReadAt reads bytes of a variable.
func (x *reader) ReadAt(id int32, b []byte, off int64) (int, error) {
	if x.Reader != nil {
		return x.Reader.ReadAt(id, b, off)
	}
	if off < 0 || off+int64(len(b)) > int64(len(x.data)) {
		return 0, formatErr("", off, "chunk", ErrTruncated, "%d bytes, there are %d", len(b), len(x.data))
	}
	return copy(b, x.data[off:]), nil
}
