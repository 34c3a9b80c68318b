package prefixdir

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
	ErrVersion   = fault.ErrVersion
	ErrMissing   = fault.ErrMissing // a part of a dataset's metadata, or an entry, is not there
	ErrExist     = fault.ErrExist   // a name, or a number of a dataset, is in the index for another one
	ErrUsage     = fault.ErrUsage
)

// pkg makes the errors of this package.
const pkg fault.Pkg = "prefixdir"

func badField(file, field string, class error, format string, args ...any) error {
	return pkg.In(file, field, class, format, args...)
}

// isDamage says whether an error is about the content of a file.
func isDamage(err error) bool {
	var damage *FormatError
	return errors.As(err, &damage)
}
