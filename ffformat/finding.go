package ffformat

import (
	"blobio/internal/base/fault"
	"errors"
	"fmt"
)

// Error is the severity of findings that mean lost or untrustworthy data. With lesser findings (warnings and notes) every
// variable is readable.
const Error = fault.Error

// A Finding is one thing that Check found.
type Finding = fault.Finding

// findingOf converts an error to a Finding. A FormatError gives its file, offset and field, and a varError gives its variable.
// For all other errors the finding has the given file.
func findingOf(sev fault.Severity, file string, err error) Finding {
	f := fault.Of(sev, file, err)
	var ve *varError
	if errors.As(err, &ve) {
		f.Var = fault.Num(ve.ID)
	}
	return f
}

// varError is the error of one variable. errors.Join combines the errors of several.
type varError struct {
	ID  int32
	Err error
}

// Error implements error.
func (e *varError) Error() string { return fmt.Sprintf("variable %d: %v", e.ID, e.Err) }

// Unwrap returns Err.
func (e *varError) Unwrap() error { return e.Err }

// BadVars returns the ids of the variables in err, in order and without duplicates.
func BadVars(err error) []int32 {
	var ids []int32
	seen := map[int32]bool{}
	var walk func(error)
	walk = func(err error) {
		if ve, ok := err.(*varError); ok {
			if !seen[ve.ID] {
				seen[ve.ID] = true
				ids = append(ids, ve.ID)
			}
			return
		}
		switch u := err.(type) {
		case interface{ Unwrap() []error }:
			for _, e := range u.Unwrap() {
				walk(e)
			}
		case interface{ Unwrap() error }:
			walk(u.Unwrap())
		}
	}
	walk(err)
	return ids
}

// FormatError is an error in a file, with its position.
type FormatError = fault.FormatError

// Error classes of this package, for errors.Is.
var (
	// The file is damaged, or of another kind.
	ErrTruncated   = fault.ErrTruncated
	ErrChecksum    = fault.ErrChecksum
	ErrCorrupt     = fault.ErrCorrupt
	ErrUnsupported = fault.ErrUnsupported
	ErrNotFormat   = fault.ErrNotFormat
	// The variable is not in the file.
	ErrMissing = fault.ErrMissing
)
