package comm

import (
	"fmt"

	"blobio/internal/base/fault"
	"blobio/internal/comm/remote"
)

// Classes of errors, re-exported.
var (
	ErrBroken = fault.ErrBroken // a call after the communication broke; the cause is in the chain too
	ErrUsage  = fault.ErrUsage  // a bad argument: a rank or tag out of range, a wrong op
	ErrRange  = fault.ErrRange  // a window access out of range
)

// Ways in which ranks fail to meet.
var (
	// ErrMismatch: ranks of one Comm are in different collectives, or in the same with
	// different arguments.
	ErrMismatch = remote.ErrMismatch
	// ErrExited: a rank returned while others need it.
	ErrExited = remote.ErrExited
	// ErrDeadlock: every rank waits for another.
	ErrDeadlock = remote.ErrDeadlock
)

// RankError is an error that one rank met, as the others see it. Rank is the
// number of the rank in the whole run; in an error of Agree, in the Comm given
// to it.
type RankError struct {
	Rank int
	Err  error

	in Comm // the Comm whose ranks agreed upon it, or nil
}

// Error names the rank, unless there is only one.
func (e *RankError) Error() string {
	if e.in != nil && e.in.Size() == 1 { // a program of one process knows nothing of ranks
		return e.Err.Error()
	}
	return fmt.Sprintf("rank %d: %v", e.Rank, e.Err)
}

// Unwrap returns Err.
func (e *RankError) Unwrap() error { return e.Err }

// PanicError is the error of a rank whose function panicked.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine, as of runtime/debug.Stack
}

// Error implements error. It includes the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns Value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// brokenError is the error of calls after the communication broke.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return fmt.Sprintf("%v: %v", ErrBroken, e.cause) }

func (e *brokenError) Unwrap() []error { return []error{ErrBroken, e.cause} }
