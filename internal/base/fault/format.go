package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// FormatError describes a fault of a file, with its offset and field. It prints as
//
//	f.nc: 0x30f8: var "T" dimid[0]: 102, want < 13
//
// Unknown parts are omitted. At makes a FormatError.
type FormatError struct {
	File   string // file name; "" if the reader has none
	Offset int64  // byte offset of the faulty field; -1 unknown
	Field  string // the field, as the format calls it
	Msg    string // what was found and what was wanted
	Found  string // the value found, if Msg has both
	Wanted string // the value wanted, if Msg has both
	Err    error  // the class: ErrTruncated, ErrChecksum, ...; may be nil
}

// Error implements error.
func (e *FormatError) Error() string {
	s := joined(e.where(), e.Msg)
	if e.Err != nil && e.Err != ErrUsage && !strings.HasSuffix(e.Msg, e.Err.Error()) { // do not repeat the class
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

func (e *FormatError) where() string {
	off := ""
	if e.Offset >= 0 {
		off = fmt.Sprintf("%#x", e.Offset)
	}
	return joined(e.File, off, e.Field)
}

// joined joins the parts that are not empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Unwrap returns the class of the error.
func (e *FormatError) Unwrap() error { return e.Err }

// IsDamage reports whether an error concerns the content of a file.
func IsDamage(err error) bool { return errors.As(err, new(*FormatError)) }
