package blocks

import (
	"blobio/internal/fault"
)

// pkg makes the errors of this package.
const pkg fault.Pkg = "blocks"

// FormatError says what is wrong with a file, and where.
type FormatError = fault.FormatError

// Classes of errors, for errors.Is.
var (
	ErrCorrupt   = fault.ErrCorrupt   // a table says what cannot be
	ErrTruncated = fault.ErrTruncated // the file ends early
	ErrChecksum  = fault.ErrChecksum  // data are not those that were written
	ErrNotFormat = fault.ErrNotFormat // a dataset, but not of blocks
	ErrVersion   = fault.ErrVersion   // of a later version of this form
	ErrExist     = fault.ErrExist     // the name is taken
	ErrInUse     = fault.ErrInUse     // somebody is writing it
	ErrMissing   = fault.ErrMissing   // no field of this name
	ErrTooLarge  = fault.ErrTooLarge  // over a cap
	ErrUsage     = fault.ErrUsage     // an argument is wrong
)

// corrupt is an error about a variable or attribute of a dataset.
func corrupt(file, field, format string, args ...any) error {
	return pkg.In(file, field, ErrCorrupt, format, args...)
}
