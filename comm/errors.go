package comm

import (
	"fmt"

	"blobio/internal/base/fault"
	"blobio/internal/comm/remote"
)

// Classes of errors, re-exported.
var (
	ErrBroken = fault.ErrBroken // returned by calls after the communication broke; wraps the cause
	ErrUsage  = fault.ErrUsage  // a bad argument: a rank or tag out of range, or a wrong op
	ErrRange  = fault.ErrRange  // a window access out of range
)

var (
	// ErrMismatch: ranks of one Comm call different collectives, or the same collective with different arguments.
	ErrMismatch = remote.ErrMismatch
	// ErrExited: a rank returned while other ranks wait for it.
	ErrExited = remote.ErrExited
	// ErrDeadlock: every rank waits for another rank.
	ErrDeadlock = remote.ErrDeadlock
)

// RankError is the form in which other ranks receive an error of a rank. Rank is the rank's number in the run; for an error from
// Agree it is the number in the Comm.
type RankError struct {
	Rank int
	Err  error

	in Comm // the Comm whose ranks agreed on the error, or nil
}

// Error names the rank, unless there is only one rank.
func (e *RankError) Error() string {
	if e.in != nil && e.in.Size() == 1 { // no text about ranks in a program of one process
		return e.Err.Error()
	}
	return fmt.Sprintf("rank %d: %v", e.Rank, e.Err)
}

// Unwrap returns Err.
func (e *RankError) Unwrap() error { return e.Err }

// PanicError is the error of a rank whose function panicked.
type PanicError struct {
	Value any
	Stack []byte // stack of the goroutine, from runtime/debug.Stack
}

// Error implements error. It includes the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns Value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// brokenError is returned by all calls after the communication broke.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return fmt.Sprintf("%v: %v", ErrBroken, e.cause) }

func (e *brokenError) Unwrap() []error { return []error{ErrBroken, e.cause} }
