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
	Note    = fault.Note    // information
	Warning = fault.Warning // unexpected, but harmless
	Error   = fault.Error   // data or redundancy is lost or cannot be trusted
)

// Finding is one result of Prefix or Caches. Node is the index of the node; it is unset for a prefix directory. Dataset is
// unset if the finding is not about one dataset. File is the path on the node. An Err of type *LookError ends an
// incomplete check.
type Finding = fault.Finding

// LookError reports why a check could not be completed: an object does not exist, or the context ended.
type LookError struct{ Err error }

// Error implements error.
func (e *LookError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *LookError) Unwrap() error { return e.Err }

// findingOf returns a finding for an error about a file.
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

// differs returns a finding about bytes with a wrong value, without giving an offset.
func differs(id int, file, field string, found, wanted any, class error) Finding {
	return Finding{Severity: Error, Dataset: number(id), File: file, Offset: -1, Field: field, Found: fmt.Sprint(found), Wanted: fmt.Sprint(wanted), Err: class}
}

// number returns the number of a dataset for a finding; id 0 means that the finding is about no dataset.
func number(id int) fault.Number {
	if id == 0 {
		return fault.Number{}
	}
	return fault.Num(id)
}
