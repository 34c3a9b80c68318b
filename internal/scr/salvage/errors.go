package salvage

import (
	"errors"
)

// ErrOutside: by its record, a file does not belong below the prefix directory, or among its metadata.
var ErrOutside = errors.New("outside of the prefix directory")

// sourceError is an error of what is copied, not of where to.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }
