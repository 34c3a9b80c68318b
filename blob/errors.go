package blob

import (
	"fmt"

	"blobio/internal/fault"
)

// FormatError says what is wrong with a file, and where.
type FormatError = fault.FormatError

// Errors that this package returns, for errors.Is.
var (
	// Reading: the file is damaged, or not what it should be.
	ErrTruncated   = fault.ErrTruncated
	ErrChecksum    = fault.ErrChecksum
	ErrCorrupt     = fault.ErrCorrupt
	ErrVersion     = fault.ErrVersion
	ErrUnsupported = fault.ErrUnsupported
	ErrNotFormat   = fault.ErrNotFormat

	// Opening and creating: the state of the dataset forbids it.
	ErrNotCommitted = fault.ErrNotCommitted
	ErrMissing      = fault.ErrMissing
	ErrExist        = fault.ErrExist
	ErrMapMismatch  = fault.ErrMapMismatch

	// Using: the call is wrong, or an earlier one failed.
	ErrUsage    = fault.ErrUsage
	ErrRange    = fault.ErrRange
	ErrTooLarge = fault.ErrTooLarge
	ErrBroken   = fault.ErrBroken
)

// formatErr builds a FormatError of this package.
func formatErr(file string, off int64, field string, class error, format string, args ...any) error {
	return &FormatError{Pkg: "blob", File: file, Offset: off, Field: field, Msg: fmt.Sprintf(format, args...), Err: class}
}

// usageErr says that an argument is wrong.
func usageErr(format string, args ...any) error {
	return fmt.Errorf("blob: %s: %w", fmt.Sprintf(format, args...), ErrUsage)
}
