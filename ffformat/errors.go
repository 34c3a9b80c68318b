package ffformat

import (
	"blobio/internal/base/fault"
)

// FormatError says what is wrong with a file, and where.
type FormatError = fault.FormatError

// Errors that this package returns, for errors.Is.
var (
	// Reading: the file is damaged, or not what it should be.
	ErrTruncated   = fault.ErrTruncated
	ErrChecksum    = fault.ErrChecksum
	ErrCorrupt     = fault.ErrCorrupt
	ErrUnsupported = fault.ErrUnsupported
	ErrNotFormat   = fault.ErrNotFormat

	// Using: the call is wrong, a value does not fit the layout, the variable is
	// not in the file, or a length is over the cap that protects memory.
	ErrUsage    = fault.ErrUsage
	ErrRange    = fault.ErrRange
	ErrMissing  = fault.ErrMissing
	ErrTooLarge = fault.ErrTooLarge
)
