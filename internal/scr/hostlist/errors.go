package hostlist

import (
	"fmt"

	"blobio/internal/fault"
)

// pkg makes the errors of this package.
const pkg fault.Pkg = "hostlist"

// SyntaxError says where a compressed list cannot be read.
type SyntaxError struct {
	Text string // the whole list
	Pos  int    // byte offset in Text of what is wrong
	Msg  string // what was found and what was wanted
	Err  error  // fault.ErrUsage, or ErrTooLarge
}

// Error implements error.
func (e *SyntaxError) Error() string {
	t := e.Text
	if len(t) > 80 {
		t = t[:77] + "..."
	}
	return fmt.Sprintf("hostlist: %q: byte %d: %s", t, e.Pos, e.Msg)
}

// Package names the package that the text begins with.
func (e *SyntaxError) Package() string { return string(pkg) }

// Unwrap returns the class of the error.
func (e *SyntaxError) Unwrap() error { return e.Err }

var (
	// ErrUsage: the text is no host list.
	ErrUsage = fault.ErrUsage
	// ErrTooLarge: the list is of more than MaxHosts hosts.
	ErrTooLarge = fault.ErrTooLarge
)
