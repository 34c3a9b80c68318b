package mapfile

import (
	"blobio/internal/base/fault"
)

// FormatError says what is wrong with a file, and where.
type FormatError = fault.FormatError

// Classes of errors, for errors.Is.
var (
	// ErrTruncated: the file ends before what it promises.
	ErrTruncated = fault.ErrTruncated
	// ErrCorrupt: a field holds what the format forbids.
	ErrCorrupt = fault.ErrCorrupt
	// ErrVersion: a PIO text of another version than 2001.
	ErrVersion = fault.ErrVersion
	// ErrUnsupported: an ADIOS file.
	ErrUnsupported = fault.ErrUnsupported
	// ErrNotFormat: the file holds no decomposition map.
	ErrNotFormat = fault.ErrNotFormat
	// ErrTooLarge: a number is over the limits of this package, or of the format to be written.
	ErrTooLarge = fault.ErrTooLarge
	// ErrRange: a request lies outside of the array.
	ErrRange = fault.ErrRange
	// ErrUsage: an argument is wrong.
	ErrUsage = fault.ErrUsage
)
