package check

import (
	"errors"
	"fmt"
	"io/fs"

	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// Severity of a finding.
type Severity = fault.Severity

// Severities.
const (
	Note    = fault.Note    // worth knowing
	Warning = fault.Warning // not as it should be
	Error   = fault.Error   // data or their protection are lost, or cannot be trusted
)

// Finding is something that Prefix or Caches found: Node is which of the nodes, and unknown of a prefix directory; Dataset is
// unknown if it is about none, or about all; File is, on a node, as the node calls it. An Err of type *LookError ends a
// check that could not be done.
type Finding = fault.Finding

// LookError says why something could not be looked at, or not to the end: it is not there, or the context ended.
type LookError struct{ Err error }

// Error implements error.
func (e *LookError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *LookError) Unwrap() error { return e.Err }

// findingOf makes a finding of an error about a file.
func findingOf(sev Severity, id int, file string, err error) Finding {
	f := Finding{Severity: sev, Dataset: number(id), File: file, Offset: -1, Err: fault.ClassOf(err)}
	var fe *kvtree.FormatError
	var pe *fs.PathError
	switch {
	case errors.As(err, &fe):
		if fe.File != "" {
			f.File = fe.File
		}
		f.Offset, f.Field, f.Found, f.Wanted = fe.Offset, fe.Field, fe.Found, fe.Wanted
		if f.Wanted == "" {
			f.Found = fe.Msg
		}
		if f.Found == "" && fe.Err != nil {
			f.Found = fe.Err.Error()
		}
	case errors.Is(err, fs.ErrNotExist):
		if errors.As(err, &pe) {
			f.File = pe.Path
		}
		f.Found, f.Wanted, f.Err = "absent", "a file", fault.ErrMissing
	default:
		f.Found = err.Error()
	}
	return f
}

// differs is a finding about bytes that have a wrong value, without an offset.
func differs(id int, file, field string, found, wanted any, class error) Finding {
	return Finding{Severity: Error, Dataset: number(id), File: file, Offset: -1, Field: field, Found: fmt.Sprint(found), Wanted: fmt.Sprint(wanted), Err: class}
}

// number is the number of a dataset; 0 is no dataset.
func number(id int) fault.Number {
	if id == 0 {
		return fault.Number{}
	}
	return fault.Num(id)
}
