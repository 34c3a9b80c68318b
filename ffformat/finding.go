package ffformat

import (
	"blobio/internal/base/fault"
	"errors"
	"fmt"
)

// Error is the severity of findings about lost or untrustworthy data. If all findings have lower severities (warnings and
// notes), every variable is readable.
const Error = fault.Error

// A Finding is one fault or note that Check reports.
type Finding = fault.Finding

// findingOf converts an error to a Finding. The finding takes file, offset and field from a FormatError, and the variable from
// a varError. For any other error the finding has the given file.
func findingOf(sev fault.Severity, file string, err error) Finding {
	f := fault.Of(sev, file, err)
	var ve *varError
	if errors.As(err, &ve) {
		f.Var = fault.Num(ve.ID)
	}
	return f
}

// varError is an error of one variable. Errors of several variables are joined by errors.Join.
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
	// Errors of these classes mean that the file is damaged or of another kind.
	ErrTruncated   = fault.ErrTruncated
	ErrChecksum    = fault.ErrChecksum
	ErrCorrupt     = fault.ErrCorrupt
	ErrUnsupported = fault.ErrUnsupported
	ErrNotFormat   = fault.ErrNotFormat
	// The variable is not in the file.
	ErrMissing = fault.ErrMissing
)
