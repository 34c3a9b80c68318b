package versioned

import (
	"math"
	"sync/atomic"

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
		return 0, pkg.At("", off, "chunk", ErrTruncated, "%d bytes, there are %d", len(b), len(x.data))
	}
	return copy(b, x.data[off:]), nil
}

// block is what one rank has for a version, in the place of a file.
type block struct {
	reader
	table []entry
	users atomic.Int64 // that read it; below 0: it is gone
}

const gone = math.MinInt64 / 2

// use calls f while the bytes are there.
func (b *block) use(f func(x *reader) error) error {
	defer b.users.Add(-1)
	if b.users.Add(1) < 0 {
		return pkg.Errorf("it was dropped while it was read: %w", ErrNoVersion)
	}
	return f(&b.reader)
}

// end gives the bytes back, nil if somebody reads them.
func (b *block) end() []byte {
	if !b.users.CompareAndSwap(0, gone) {
		return nil
	}
	return b.data
}
