package fault

import (
	"fmt"
	"strings"
)

// FormatError says what is wrong with a file, and where. It prints as
//
//	cdf5: f.nc: 0x30f8: var "T" dimid[0]: 102, want < 13
//
// Parts that are unknown are left out.
type FormatError struct {
	Pkg    string // package that found it: "cdf5", "h5", "blob", ...
	File   string // file name, or "" when the reader was given no name
	Offset int64  // byte offset in the file of the field at fault; -1 unknown
	Field  string // the field, in the words of the format
	Msg    string // what was found and what was wanted
	Err    error  // the class: ErrTruncated, ErrChecksum, ...; may be nil
}

// Error implements error.
func (e *FormatError) Error() string {
	var b strings.Builder
	b.WriteString(e.Pkg)
	if e.File != "" {
		b.WriteString(": " + e.File)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, ": %#x", e.Offset)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	if e.Msg != "" {
		b.WriteString(": " + e.Msg)
	}
	if e.Err != nil && !strings.HasSuffix(e.Msg, e.Err.Error()) { // what was said is not said again
		b.WriteString(" (" + e.Err.Error() + ")")
	}
	return b.String()
}

// Unwrap returns the class of the error.
func (e *FormatError) Unwrap() error { return e.Err }
