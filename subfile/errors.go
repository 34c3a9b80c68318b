package subfile

import (
	"blobio/internal/fault"
)

// pkg makes the errors of this package.
const pkg fault.Pkg = "subfile"

// FormatError says what is wrong with a manifest, and where.
type FormatError = fault.FormatError

// Errors that this package returns, for errors.Is.
var (
	ErrNotCommitted = fault.ErrNotCommitted
	ErrTruncated    = fault.ErrTruncated
	ErrVersion      = fault.ErrVersion
	ErrChecksum     = fault.ErrChecksum
	ErrCorrupt      = fault.ErrCorrupt
	ErrUsage        = fault.ErrUsage
)

func bad(file string, off int64, field string, class error, format string, args ...any) error {
	return pkg.At(file, off, field, class, format, args...)
}
