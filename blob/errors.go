package blob

import (
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

// FormatError says what is wrong with a file, and where.
type FormatError = fault.FormatError

// Errors that this package returns, for errors.Is.
var (
	// Reading: the file is damaged, or not what it should be.
	ErrTruncated   = fault.ErrTruncated
	ErrChecksum    = fault.ErrChecksum
	ErrCorrupt     = fault.ErrCorrupt
	ErrVersion     = fault.ErrVersion
	ErrUnsupported = fault.ErrUnsupported
	ErrNotFormat   = fault.ErrNotFormat

	// Opening and creating: the state of the dataset forbids it.
	ErrNotCommitted = fault.ErrNotCommitted
	ErrMissing      = fault.ErrMissing
	ErrExist        = fault.ErrExist
	ErrMapMismatch  = fault.ErrMapMismatch
	ErrInUse        = fault.ErrInUse

	// Using: the call is wrong, or an earlier one failed.
	ErrUsage    = fault.ErrUsage
	ErrRange    = fault.ErrRange
	ErrTooLarge = fault.ErrTooLarge
	ErrBroken   = fault.ErrBroken
)

// An UnfinishedError is met after the commit: the new dataset is the one that is read, but files have not
// got their final names yet, or the old ones are still there. Recover, or the next writer, does what is left.
type UnfinishedError struct {
	Base string
	Err  error
}

// Error implements error.
func (e *UnfinishedError) Error() string {
	return e.Base + ": the dataset is committed, but not all of its files have got their final names: " + e.Err.Error()
}

// Unwrap returns what was met.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// An InDoubtError is met while the commit is made: the ranks no longer hear each other, or there is a second error
// while the commit is taken back. Only a look at the files tells which dataset is in force. No file is removed.
type InDoubtError struct {
	Base string
	Err  error
}

// Error implements error.
func (e *InDoubtError) Error() string {
	return e.Base + ": it is not known whether the dataset was committed: " + e.Err.Error()
}

// Unwrap returns what was met.
func (e *InDoubtError) Unwrap() error { return e.Err }

// Is implements errors.Is.
func (e *InDoubtError) Is(target error) bool { return target == durable.ErrUnsure }
