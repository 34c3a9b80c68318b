package salvage

import (
	"errors"

	"blobio/internal/fault"
)

// FormatError says what is wrong with a file.
type FormatError = fault.FormatError

// Classes of errors, re-exported.
var (
	ErrChecksum = fault.ErrChecksum // bytes are not those that were written, and nothing is left to mend them with
	ErrCorrupt  = fault.ErrCorrupt  // what was copied contradicts itself
	ErrMissing  = fault.ErrMissing  // more is lost than the redundancy makes up for
	ErrExist    = fault.ErrExist    // another dataset has the name or the number
	ErrUsage    = fault.ErrUsage
)

// ErrOutside: by its record, a file does not belong below the prefix directory, or among its metadata.
var ErrOutside = errors.New("outside of the prefix directory")

// pkg makes the errors of this package.
const pkg fault.Pkg = "salvage"

func badField(file, field, format string, args ...any) error {
	return pkg.In(file, field, ErrCorrupt, format, args...)
}

// isDamage says whether an error is about the content of a file.
func isDamage(err error) bool {
	var damage *FormatError
	return errors.As(err, &damage)
}

// sourceError is an error of what is copied, not of where to.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }
