package ffformat

import (
	"blobio/internal/base/fault"
	"errors"
	"fmt"
)

// Error is the severity of findings by which data are lost or cannot be trusted. Less are warnings, with which every variable can be read, and notes.
const Error = fault.Error

// A Finding is one thing that Check found.
type Finding = fault.Finding

// findingOf is an error as a finding: of a FormatError its file, offset and field, else this file; of a varError its variable.
func findingOf(sev fault.Severity, file string, err error) Finding {
	f := fault.Of(sev, file, err)
	var ve *varError
	if errors.As(err, &ve) {
		f.Var = fault.Num(ve.ID)
	}
	return f
}

// varError is the error of one variable; of several, errors.Join holds one each.
type varError struct {
	ID  int32
	Err error
}

// Error implements error.
func (e *varError) Error() string { return fmt.Sprintf("variable %d: %v", e.ID, e.Err) }

// Unwrap returns Err.
func (e *varError) Unwrap() error { return e.Err }

// BadVars returns the ids of the variables that err names, in its order, each
// once.
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

// FormatError is an error in a file, with the place.
type FormatError = fault.FormatError

// Errors that this package returns, for errors.Is.
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
