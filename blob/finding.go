package blob

import (
	"encoding/json"
	"errors"
	"fmt"

	"blobio/internal/fault"
)

// Severity of a finding: it prints as "note", "warning" or "error".
type Severity = fault.Severity

const (
	// Note: worth knowing, not wrong: elements that no rank owns, a foreign file.
	Note = fault.Note
	// Warning: not as it should be, but every element can be read.
	Warning = fault.Warning
	// Error: data are lost, or cannot be trusted.
	Error = fault.Error
)

// A Finding is one thing that Check or Diff found.
type Finding struct {
	Severity Severity
	File     string // "" if it concerns the dataset as a whole
	Offset   int64  // in the file, in bytes; -1 if it has none
	Field    string
	Msg      string
	Err      error // the class, for errors.Is; may be nil
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
	}{f.Severity, f.File, nil, f.Field, f.Msg, ""}
	if f.Offset >= 0 {
		v.Offset = &f.Offset
	}
	if f.Err != nil {
		v.Class = f.Err.Error()
	}
	return json.Marshal(v)
}

// findingOf makes a finding of an error, with the place that a FormatError names.
func findingOf(sev Severity, file string, err error) Finding {
	var fe *FormatError
	if errors.As(err, &fe) {
		f := Finding{Severity: sev, File: fe.File, Offset: fe.Offset, Field: fe.Field, Msg: fe.Msg, Err: fe.Err}
		if f.File == "" {
			f.File = file
		}
		return f
	}
	return Finding{Severity: sev, File: file, Offset: -1, Msg: fmt.Sprint(err), Err: err}
}
