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
	ErrChecksum  = fault.ErrChecksum  // data are not those that were written
	ErrNotFormat = fault.ErrNotFormat // a dataset, but not of blocks
	ErrExist     = fault.ErrExist     // the name is taken
)

// corrupt is an error about a variable or attribute of a dataset.
func corrupt(file, field, format string, args ...any) error {
	return pkg.In(file, field, ErrCorrupt, format, args...)
}
