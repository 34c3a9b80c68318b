package salvage

import (
	"errors"

	"blobio/internal/fault"
)

// ErrOutside: by its record, a file does not belong below the prefix directory, or among its metadata.
var ErrOutside = errors.New("outside of the prefix directory")

func badField(file, field, format string, args ...any) error {
	return fault.In(file, field, fault.ErrCorrupt, format, args...)
}

// isDamage says whether an error is about the content of a file.
func isDamage(err error) bool {
	var damage *fault.FormatError
	return errors.As(err, &damage)
}

// sourceError is an error of what is copied, not of where to.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }
