package blocks

import (
	"fmt"

	"blobio/internal/fault"
)

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

func usageErr(format string, args ...any) error {
	return fmt.Errorf("blocks: %w: %s", ErrUsage, fmt.Sprintf(format, args...))
}

// corrupt is an error about a variable or attribute of a dataset.
func corrupt(file, field, format string, args ...any) error {
	return &FormatError{Pkg: "blocks", File: file, Offset: -1, Field: field, Msg: fmt.Sprintf(format, args...), Err: ErrCorrupt}
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
