package cachedir

import (
	"errors"

	"blobio/internal/fault"
)

// FormatError says what is wrong with a file.
type FormatError = fault.FormatError

// Classes of errors, re-exported.
var (
	ErrTruncated = fault.ErrTruncated
	ErrChecksum  = fault.ErrChecksum
	ErrCorrupt   = fault.ErrCorrupt
	ErrMissing   = fault.ErrMissing // a file that a map lists is not there
	ErrUsage     = fault.ErrUsage
)

// pkg makes the errors of this package.
const pkg fault.Pkg = "cachedir"

func badField(file, field, format string, args ...any) error {
	return pkg.In(file, field, ErrCorrupt, format, args...)
}

// isDamage says whether an error is about the content of a file.
func isDamage(err error) bool {
	var damage *FormatError
	return errors.As(err, &damage)
}
