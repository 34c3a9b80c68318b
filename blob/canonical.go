package blob

import (
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"context"
)

// CanonicalFile is the ordinary netCDF file of a dataset, or of a part of it: the bytes that Convert would write, computed on demand.
// It is an io.ReaderAt, safe for concurrent use while its Reader is open.
type CanonicalFile struct{ f *read.CanonicalFile }

// A CanonicalPool bounds what canonical files keep and read ahead together, beside the cap of each: who opens many at once cannot know how
// many of them are read. It is safe for concurrent use.
type CanonicalPool = read.CanonicalPool

// NewCanonicalPool makes a pool of that size, for CanonicalOptions.Pool.
func NewCanonicalPool(bytes int64) *CanonicalPool { return read.NewCanonicalPool(bytes) }

// Size returns the length of the file in bytes.
func (c *CanonicalFile) Size() int64 { return c.f.Size() }

// Header returns the header of the file, with the place of each variable. It must not be changed.
func (c *CanonicalFile) Header() *cdf5.Header { return c.f.Header() }

// ReadAt implements io.ReaderAt.
func (c *CanonicalFile) ReadAt(p []byte, off int64) (int, error) { return c.f.ReadAt(p, off) }

// ReadAtContext is ReadAt until ctx ends. If data are damaged, missing or replaced by another dataset, exactly the reads that touch them
// fail; n is then the number of correct bytes before them.
func (c *CanonicalFile) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	return c.f.ReadAtContext(ctx, p, off)
}

// Borrow returns the n bytes from off on without a copy, if they are in one block that is decoded, or being decoded, as with reads in sequence;
// they must not be changed, and back must be called when they are no longer used. Otherwise both are nil: ReadAtContext reads them.
func (c *CanonicalFile) Borrow(ctx context.Context, off int64, n int) (p []byte, back func()) {
	return c.f.Borrow(ctx, off, n)
}

// Prove finds out whether bytes [off, end) can be read, for who cannot go back when a later one cannot. It returns how many from off on can, which may be more.
// They are decoded for that, and kept for reads that follow, as long as there is room.
func (c *CanonicalFile) Prove(ctx context.Context, off, end int64) (n int64, err error) {
	return c.f.Prove(ctx, off, end)
}
