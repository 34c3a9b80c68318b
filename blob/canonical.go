package blob

import (
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"context"
)

// CanonicalFile is the ordinary netCDF file of a dataset or of a part: the bytes that Convert would write, computed on demand. It
// is an io.ReaderAt, safe for concurrent use while its Reader is open.
type CanonicalFile struct{ f *read.CanonicalFile }

// A CanonicalPool limits the memory for caching and read-ahead of all canonical files together, in addition to the limit of each
// file. Use one when many files are open and the number being read is unknown. It is safe for concurrent use.
type CanonicalPool = read.CanonicalPool

// NewCanonicalPool makes a pool of the given size for CanonicalOptions.Pool.
func NewCanonicalPool(bytes int64) *CanonicalPool { return read.NewCanonicalPool(bytes) }

// Size returns the length of the file in bytes.
func (c *CanonicalFile) Size() int64 { return c.f.Size() }

// Header returns the header of the file, with the offset of each variable. The caller must not change it.
func (c *CanonicalFile) Header() *cdf5.Header { return c.f.Header() }

// ReadAt implements io.ReaderAt.
func (c *CanonicalFile) ReadAt(p []byte, off int64) (int, error) { return c.f.ReadAt(p, off) }

// ReadAtContext is ReadAt with a context. If data are damaged, missing or replaced by another dataset, only reads that touch them
// fail. n is then the number of correct bytes before them.
func (c *CanonicalFile) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	return c.f.ReadAtContext(ctx, p, off)
}

// Borrow returns the n bytes at off without a copy if one block that is decoded, or being decoded, holds them all. Sequential
// reads usually find such a block. The caller must not change the bytes and must call back after use. Otherwise Borrow returns
// nil twice; use ReadAtContext.
func (c *CanonicalFile) Borrow(ctx context.Context, off int64, n int) (p []byte, back func()) {
	return c.f.Borrow(ctx, off, n)
}

// Prove tests whether bytes [off, end) can be read, for a caller that cannot undo output after a later error. It returns the
// number of readable bytes from off, which may exceed the range. Prove decodes the bytes and caches them for later reads while
// memory lasts.
func (c *CanonicalFile) Prove(ctx context.Context, off, end int64) (n int64, err error) {
	return c.f.Prove(ctx, off, end)
}
