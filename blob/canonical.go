package blob

import (
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"context"
)

// CanonicalFile is the ordinary netCDF file of a dataset or of a part of it. It has the bytes that Convert would write,
// computed on demand. It is an io.ReaderAt, and safe for concurrent use while its Reader is open.
type CanonicalFile struct{ f *read.CanonicalFile }

// A CanonicalPool limits the total memory of several canonical files for caching and read-ahead, see CanonicalOptions.Pool. Use a
// pool if a program opens many files and does not know which of them will be read. A pool is safe for concurrent use.
type CanonicalPool = read.CanonicalPool

// NewCanonicalPool makes a pool of the given size for CanonicalOptions.Pool.
func NewCanonicalPool(bytes int64) *CanonicalPool { return read.NewCanonicalPool(bytes) }

// Size returns the length of the file in bytes.
func (c *CanonicalFile) Size() int64 { return c.f.Size() }

// Header returns the header of the file, with the offset of each variable. The caller must not change it.
func (c *CanonicalFile) Header() *cdf5.Header { return c.f.Header() }

// ReadAt implements io.ReaderAt.
func (c *CanonicalFile) ReadAt(p []byte, off int64) (int, error) { return c.f.ReadAt(p, off) }

// ReadAtContext is ReadAt with a context. Damaged, missing or replaced data cause an error only in reads of these data. n is
// then the number of correct bytes before the fault.
func (c *CanonicalFile) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	return c.f.ReadAtContext(ctx, p, off)
}

// Borrow returns the n bytes at off without a copy if one cached block, or a block being decoded, holds them all. Sequential
// reads usually find such a block. The caller must not change the bytes, and must call back after use. If there is no such
// block, p and back are nil: use ReadAtContext.
func (c *CanonicalFile) Borrow(ctx context.Context, off int64, n int) (p []byte, back func()) {
	return c.f.Borrow(ctx, off, n)
}

// Prove tests whether bytes [off, end) can be read. It serves callers that cannot undo output when a later read fails. It
// returns the number of readable bytes from off, which may be more than end-off. Prove keeps the decoded bytes in the cache for
// later reads, as far as memory allows.
func (c *CanonicalFile) Prove(ctx context.Context, off, end int64) (n int64, err error) {
	return c.f.Prove(ctx, off, end)
}
