package check

import (
	"errors"
	"fmt"
	"io/fs"

	"blobio/internal/fault"
	"blobio/kvtree"
)

// Severity of a finding.
type Severity = fault.Severity

// Severities.
const (
	Note    = fault.Note    // worth knowing
	Warning = fault.Warning // not as it should be
	Error   = fault.Error   // data or their protection are lost, or cannot be trusted
)

// Finding is something that Prefix or Caches found.
type Finding struct {
	Severity Severity
	Node     int    // which of the nodes; 0 for a prefix directory
	Dataset  int    // its number; 0 if it is about none, or about all
	File     string // on a node: as the node calls it
	Offset   int64  // in the file, in bytes; -1 if it has none
	Field    string
	Found    string // what there is
	Wanted   string // what there should be; may be ""
	Err      error  // the class, for errors.Is; may be nil. *LookError ends a check that could not be done
}

// Where is the offset and the field; "" if there are none.
func (f Finding) Where() string {
	if f.Offset >= 0 {
		return fmt.Sprintf("%#x: %s", f.Offset, f.Field)
	}
	return f.Field
}

// String is the finding on a line: severity, file, field, what was found and what is wanted.
func (f Finding) String() string {
	s := f.Severity.String() + ": " + fault.Quoted(f.File)
	if where := f.Where(); where != "" {
		s += ": " + where
	}
	s += ": " + f.Found
	if f.Wanted != "" {
		s += ", want " + f.Wanted
	}
	return s
}

// LookError says why something could not be looked at, or not to the end: it is not there, or the context ended.
type LookError struct{ Err error }

// Error implements error.
func (e *LookError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *LookError) Unwrap() error { return e.Err }

// classOf is the class of an error; nil if it has none.
func classOf(err error) error {
	for _, c := range []error{fault.ErrTruncated, fault.ErrChecksum, fault.ErrCorrupt, fault.ErrNotFormat, fault.ErrMissing, fault.ErrVersion} {
		if errors.Is(err, c) {
			return c
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fault.ErrMissing
	}
	return nil
}

// findingOf makes a finding of an error about a file.
func findingOf(sev Severity, id int, file string, err error) Finding {
	f := Finding{Severity: sev, Dataset: id, File: file, Offset: -1, Err: classOf(err)}
	var fe *kvtree.FormatError
	var pe *fs.PathError
	switch {
	case errors.As(err, &fe):
		if fe.File != "" {
			f.File = fe.File
		}
		f.Offset, f.Field, f.Found = fe.Offset, fe.Field, fe.Msg
		if f.Found == "" && fe.Err != nil {
			f.Found = fe.Err.Error()
		}
	case errors.Is(err, fs.ErrNotExist):
		if errors.As(err, &pe) {
			f.File = pe.Path
		}
		f.Found, f.Wanted = "absent", "a file"
	default:
		f.Found = err.Error()
	}
	return f
}

// differs is a finding about bytes that are not what they have to be.
func differs(id int, file string, off int64, field string, found, wanted any, class error) Finding {
	return Finding{Severity: Error, Dataset: id, File: file, Offset: off, Field: field, Found: fmt.Sprint(found), Wanted: fmt.Sprint(wanted), Err: class}
}
