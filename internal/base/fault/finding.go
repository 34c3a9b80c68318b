package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A Finding is one result of a check. Unknown fields have their zero values; an unknown Offset is -1.
type Finding struct {
	Severity Severity
	File     string // "" if the finding concerns the whole
	Offset   int64  // byte offset in the file; -1: none
	Field    string // the field, variable, attribute, ... as the format calls it
	Msg      string // what is wrong; "": see Found and Wanted
	Found    string // the value found
	Wanted   string // the value wanted
	Effect   string // known effect on Enzo-E, such as "hangs"
	Err      error  // class or underlying error, for errors.Is; may be nil

	// The subject of the finding, in addition to the file and the offset.
	Rank    Number // rank that wrote or needs the data
	Node    Number // node in a list of nodes
	Dataset Number // dataset of SCR, or checkpoint of FTI
	Var     Number // id of a variable without a name
	Block   string // name of a mesh block

	Numbers any // the numbers of the message, for JSON; nil: the message has no numbers, or only as text
}

// Number is a number that may be unknown. The zero value is unknown.
type Number struct {
	n     int64
	known bool
}

// Num returns a known number.
func Num[T ~int | ~int32 | ~int64](n T) Number { return Number{int64(n), true} }

// Get returns the number and whether it is known.
func (n Number) Get() (int64, bool) { return n.n, n.known }

// Is reports whether the number is known and equals i.
func (n Number) Is(i int64) bool { return n.known && n.n == i }

// IsZero reports whether the number is unknown.
func (n Number) IsZero() bool { return !n.known }

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(n.n) }

// Of makes a finding from an error. A FormatError sets the file and the offset. For other errors, the file is the argument
// file. The finding is Unchecked if the error is an unsupported version or feature, or if this process is exhausted.
func Of(sev Severity, file string, err error) Finding {
	if sev == Error && (errors.Is(err, ErrUnsupported) || errors.Is(err, ErrVersion) || Exhausted(err)) {
		sev = Unchecked
	}
	f := Finding{Severity: sev, File: file, Offset: -1}
	var fe *FormatError
	var pe *fs.PathError
	switch {
	case errors.As(err, &fe):
		f.Offset, f.Field, f.Msg, f.Found, f.Wanted, f.Err = fe.Offset, fe.Field, fe.Msg, fe.Found, fe.Wanted, fe.Err
		if fe.File != "" {
			f.File = fe.File
		}
		if fe.Err != nil && ClassOf(fe.Err) == nil && !strings.Contains(f.Msg, fe.Err.Error()) {
			f.Msg += " (" + fe.Err.Error() + ")"
		}
	case errors.As(err, &pe) && f.File == "":
		f.File, f.Msg, f.Err = pe.Path, err.Error(), err
	default:
		f.Msg, f.Err = err.Error(), err
	}
	if Exhausted(err) {
		f.Err = err
	}
	return f
}

// message returns what is wrong.
func (f *Finding) message() string {
	switch {
	case f.Msg != "":
		return f.Msg
	case f.Wanted != "":
		return f.Found + ", want " + f.Wanted
	}
	return f.Found
}

func (f *Finding) class() string {
	if f.Err == nil {
		return ""
	}
	if c := ClassOf(f.Err); c != nil {
		return c.Error()
	}
	if errors.Is(f.Err, fs.ErrNotExist) {
		return ErrMissing.Error()
	}
	return ""
}

// String returns the finding as one line, safe for a terminal: severity, file, offset, block, field, message, and the effect or
// the class.
func (f Finding) String() string {
	e := FormatError{File: f.File, Offset: f.Offset, Field: joined(f.Block, f.Field)}
	msg := f.message()
	s := joined(f.Severity.String(), e.where(), msg)
	if c := f.class(); c != "" && f.Effect == "" && !strings.HasSuffix(msg, c) && !strings.HasSuffix(msg, "("+c+")") {
		s += " (" + c + ")"
	}
	if f.Effect != "" {
		s += " (Enzo-E " + f.Effect + ")"
	}
	return Printable(s)
}

// AsError returns the finding as an error.
func (f Finding) AsError() error {
	return &FormatError{File: f.File, Offset: f.Offset, Field: strings.TrimSpace(f.Block + " " + f.Field),
		Msg: f.message(), Found: f.Found, Wanted: f.Wanted, Err: f.Err}
}

// MarshalJSON writes the known fields in lower case: severity, file, offset, rank, node, dataset, var, block, field, message,
// found, wanted, class, effect, numbers. Severity and message are always present.
func (f Finding) MarshalJSON() ([]byte, error) {
	v := struct {
		Severity Severity `json:"severity"`
		File     string   `json:"file,omitempty"`
		Offset   *int64   `json:"offset,omitempty"`
		Rank     Number   `json:"rank,omitzero"`
		Node     Number   `json:"node,omitzero"`
		Dataset  Number   `json:"dataset,omitzero"`
		Var      Number   `json:"var,omitzero"`
		Block    string   `json:"block,omitempty"`
		Field    string   `json:"field,omitempty"`
		Msg      string   `json:"message"`
		Found    string   `json:"found,omitempty"`
		Wanted   string   `json:"wanted,omitempty"`
		Class    string   `json:"class,omitempty"`
		Effect   string   `json:"effect,omitempty"`
		Numbers  any      `json:"numbers,omitempty"`
	}{f.Severity, f.File, nil, f.Rank, f.Node, f.Dataset, f.Var, f.Block, f.Field, f.message(), f.Found, f.Wanted, f.class(), f.Effect, f.Numbers}
	if f.Offset >= 0 {
		v.Offset = &f.Offset
	}
	return json.Marshal(v)
}

// String returns the number, or "?" if it is unknown.
func (n Number) String() string {
	if !n.known {
		return "?"
	}
	return fmt.Sprint(n.n)
}
