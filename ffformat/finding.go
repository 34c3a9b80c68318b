package ffformat

import (
	"encoding/json"
	"errors"
	"fmt"

	"blobio/internal/fault"
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
type Finding struct {
	Severity Severity
	File     string
	Offset   int64 // in the file, in bytes; -1 if it has none
	Field    string
	Msg      string
	Err      error // the class, for errors.Is; may be nil
	HasVar   bool  // it is about one variable: Var
	Var      int32
}

// String prints one line: severity, file, offset, field and message.
func (f Finding) String() string {
	e := FormatError{Pkg: f.Severity.String(), File: f.File, Offset: f.Offset, Field: f.Field, Msg: f.Msg, Err: f.Err}
	return e.Error()
}

// MarshalJSON gives the fields in lower case, the class as text.
func (f Finding) MarshalJSON() ([]byte, error) {
	v := struct {
		Severity Severity `json:"severity"`
		File     string   `json:"file,omitempty"`
		Offset   *int64   `json:"offset,omitempty"`
		Field    string   `json:"field,omitempty"`
		Msg      string   `json:"message"`
		Class    string   `json:"class,omitempty"`
		Var      *int32   `json:"var,omitempty"`
	}{f.Severity, f.File, nil, f.Field, f.Msg, "", nil}
	if f.Offset >= 0 {
		v.Offset = &f.Offset
	}
	if f.Err != nil {
		v.Class = f.Err.Error()
	}
	if f.HasVar {
		v.Var = &f.Var
	}
	return json.Marshal(v)
}

// findingOf makes a finding of an error, with the place that a FormatError names.
func findingOf(sev Severity, file string, err error) Finding {
	f := Finding{Severity: sev, File: file, Offset: -1}
	var ve *VarError
	if errors.As(err, &ve) {
		f.HasVar, f.Var = true, ve.ID
	}
	var fe *FormatError
	if !errors.As(err, &fe) {
		f.Msg, f.Err = err.Error(), err
		return f
	}
	f.Offset, f.Field, f.Msg, f.Err = fe.Offset, fe.Field, fe.Msg, fe.Err
	if fe.File != "" {
		f.File = fe.File
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

// FindingOf is an error as a finding: of a FormatError its file, offset and field.
func FindingOf(sev Severity, err error) Finding { return findingOf(sev, "", err) }

// AsError is the finding as a FormatError.
func (f Finding) AsError() error {
	return &FormatError{Pkg: "ffformat", File: f.File, Offset: f.Offset, Field: f.Field, Msg: f.Msg, Err: f.Err}
}
