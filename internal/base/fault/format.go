package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// FormatError says what is wrong with a file, and where. It prints as
//
//	f.nc: 0x30f8: var "T" dimid[0]: 102, want < 13
//
// Parts that are unknown are left out. At makes one.
type FormatError struct {
	File   string // file name, or "" when the reader was given no name
	Offset int64  // byte offset in the file of the field at fault; -1 unknown
	Field  string // the field, in the words of the format
	Msg    string // what was found and what was wanted
	Found  string // what was found, if Msg says both
	Wanted string // what was wanted, if Msg says both
	Err    error  // the class: ErrTruncated, ErrChecksum, ...; may be nil
}

// Error implements error.
func (e *FormatError) Error() string {
	s := joined(e.where(), e.Msg)
	if e.Err != nil && e.Err != ErrUsage && !strings.HasSuffix(e.Msg, e.Err.Error()) { // what was said is not said again
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

// where is the place.
func (e *FormatError) where() string {
	off := ""
	if e.Offset >= 0 {
		off = fmt.Sprintf("%#x", e.Offset)
	}
	return joined(e.File, off, e.Field)
}

// joined are the parts that are there.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Unwrap returns the class of the error.
func (e *FormatError) Unwrap() error { return e.Err }

// IsDamage says that an error is about the content of a file.
func IsDamage(err error) bool { return errors.As(err, new(*FormatError)) }
