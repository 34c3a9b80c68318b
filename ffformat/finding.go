package ffformat

import (
	"errors"
	"fmt"

	"blobio/internal/base/fault"
)

// Severity of a finding: it prints as "note", "warning" or "error".
type Severity = fault.Severity

const (
	// Note: worth knowing, not wrong.
	Note = fault.Note
	// Warning: not as it should be, but every variable can be read.
	Warning = fault.Warning
	// Error: data are lost, or cannot be trusted.
	Error = fault.Error
)

// A Finding is one thing that Check found.
type Finding = fault.Finding

// FindingOf is an error as a finding: of a FormatError its file, offset and field, else this file; of a VarError its variable.
func FindingOf(sev Severity, file string, err error) Finding {
	f := fault.Of(sev, file, err)
	var ve *VarError
	if errors.As(err, &ve) {
		f.Var = fault.Num(ve.ID)
	}
	return f
}

// VarError is the error of one variable; of several, errors.Join holds one each.
type VarError struct {
	ID  int32
	Err error
}

// Error implements error.
func (e *VarError) Error() string { return fmt.Sprintf("variable %d: %v", e.ID, e.Err) }

// Unwrap returns Err.
func (e *VarError) Unwrap() error { return e.Err }

// BadVars returns the ids of the variables that err names, in its order, each
// once.
func BadVars(err error) []int32 {
	var ids []int32
	seen := map[int32]bool{}
	var walk func(error)
	walk = func(err error) {
		if ve, ok := err.(*VarError); ok {
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
