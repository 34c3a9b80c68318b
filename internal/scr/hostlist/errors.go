package hostlist

import (
	"fmt"
)

// SyntaxError is a fault in a compressed list.
type SyntaxError struct {
	Text string // the whole list
	Pos  int    // byte offset of the fault in Text
	Msg  string // the fault, and what was expected
	Err  error  // fault.ErrUsage, or fault.ErrTooLarge
}

// Error implements error.
func (e *SyntaxError) Error() string {
	t := e.Text
	if len(t) > 80 {
		t = t[:77] + "..."
	}
	return fmt.Sprintf("%q: byte %d: %s", t, e.Pos, e.Msg)
}

// Unwrap returns the class of the error.
func (e *SyntaxError) Unwrap() error { return e.Err }
