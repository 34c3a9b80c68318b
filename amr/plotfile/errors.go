package plotfile

import (
	"blobio/internal/fault"
)

const pkg fault.Pkg = "plotfile"

// FormatError says what is wrong with a plotfile, and where.
type FormatError = fault.FormatError

// Finding is one thing that Check found.
type Finding = fault.Finding

// Classes of errors.
var (
	ErrChecksum    = fault.ErrChecksum    // data are not those that were written
	ErrCorrupt     = fault.ErrCorrupt     // a field holds what the format forbids
	ErrExist       = fault.ErrExist       // the output is there
	ErrMissing     = fault.ErrMissing     // a file is not there
	ErrNotFormat   = fault.ErrNotFormat   // no plotfile
	ErrTooLarge    = fault.ErrTooLarge    // over the memory cap
	ErrTruncated   = fault.ErrTruncated   // a file ends too early
	ErrUnsupported = fault.ErrUnsupported // valid, but not read here
	ErrUsage       = fault.ErrUsage       // a wrong argument
)
