package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A Finding is one thing that a check found. Fields that are not known have their zero values; Offset is then -1.
type Finding struct {
	Severity Severity
	File     string // "" if it concerns the whole
	Offset   int64  // in the file, in bytes; -1 if it has none
	Field    string // the field, variable, attribute, ... in the words of the format
	Msg      string // what is wrong; "": Found and Wanted say it
	Found    string // what there is
	Wanted   string // what there should be
	Effect   string // what the program that the format is of does with it, if that is known
	Err      error  // the class, or the error met, for errors.Is; may be nil

	// The subject, beside a place in a file.
	Rank    Number // that wrote it, or that needs it
	Node    Number // of a list of nodes
	Dataset Number // of a dataset of SCR, a checkpoint of FTI
	Var     Number // id of a variable that has no name
	Block   string // name of a block of a mesh

	Numbers any // the numbers of the message, as JSON has them; nil: there are none, or they are in the message alone
}

// Number is a number that may be unknown, as the zero value is.
type Number struct {
	n     int64
	known bool
}

// Num is a known number.
func Num[T ~int | ~int32 | ~int64](n T) Number { return Number{int64(n), true} }

// Get returns the number, and whether it is known.
func (n Number) Get() (int64, bool) { return n.n, n.known }

// Is says that the number is known to be i.
func (n Number) Is(i int64) bool { return n.known && n.n == i }

// IsZero says that the number is unknown.
func (n Number) IsZero() bool { return !n.known }

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(n.n) }

// Of makes a finding of an error. Its place is the place of a FormatError, else file. Sound content of a version or with a
// feature that is not implemented here is no error: the finding is Unchecked, as it is for files that this process had no room to open.
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

// message is what is wrong.
func (f *Finding) message() string {
	switch {
	case f.Msg != "":
		return f.Msg
	case f.Wanted != "":
		return f.Found + ", want " + f.Wanted
	}
	return f.Found
}

// class is what the finding says of its class.
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

// String is the finding on a line, fit for a terminal: severity, file, offset, block, field, message, and the effect, or if none is known the class.
func (f Finding) String() string {
	e := FormatError{File: f.File, Offset: f.Offset, Field: joined(f.Block, f.Field)}
	msg := f.message()
	s := joined(f.Severity.String(), e.where(), msg)
	if c := f.class(); c != "" && f.Effect == "" && !strings.HasSuffix(msg, c) && !strings.HasSuffix(msg, "("+c+")") {
		s += " (" + c + ")"
	}
	if f.Effect != "" {
		s += " (the original: " + f.Effect + ")"
	}
	return Printable(s)
}

// AsError is the finding as an error.
func (f Finding) AsError() error {
	return &FormatError{File: f.File, Offset: f.Offset, Field: strings.TrimSpace(f.Block + " " + f.Field),
		Msg: f.message(), Found: f.Found, Wanted: f.Wanted, Err: f.Err}
}

// MarshalJSON gives what is known, with names in lower case: severity, file, offset, rank, node, dataset, var, block, field,
// message, found, wanted, class, effect, numbers. Severity and message are always there.
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

// String of a Number is "?" if it is unknown.
func (n Number) String() string {
	if !n.known {
		return "?"
	}
	return fmt.Sprint(n.n)
}
