package ffformat

import (
	"blobio/internal/base/fault"
)

// FormatError says what is wrong with a file, and where.
type FormatError = fault.FormatError

// Errors that this package returns, for errors.Is.
var (
	// The file is damaged, or not what it should be.
	ErrTruncated   = fault.ErrTruncated
	ErrChecksum    = fault.ErrChecksum
	ErrCorrupt     = fault.ErrCorrupt
	ErrUnsupported = fault.ErrUnsupported
	ErrNotFormat   = fault.ErrNotFormat
	// The variable is not in the file.
	ErrMissing = fault.ErrMissing
)
