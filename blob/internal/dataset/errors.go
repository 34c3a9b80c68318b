package dataset

import (
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

// FormatError describes a fault of a file and where it is.
type FormatError = fault.FormatError

// Errors that this package returns, for errors.Is.
var (
	// Errors of reading: the file is damaged, or has another format.
	ErrTruncated   = fault.ErrTruncated
	ErrChecksum    = fault.ErrChecksum
	ErrCorrupt     = fault.ErrCorrupt
	ErrVersion     = fault.ErrVersion
	ErrUnsupported = fault.ErrUnsupported
	ErrNotFormat   = fault.ErrNotFormat

	// Errors of opening and creating: the state of the dataset does not allow
	// the call.
	ErrNotCommitted = fault.ErrNotCommitted
	ErrMissing      = fault.ErrMissing
	ErrExist        = fault.ErrExist
	ErrMapMismatch  = fault.ErrMapMismatch
	ErrInUse        = fault.ErrInUse

	// Errors of use: the call is wrong, or an earlier call has failed.
	ErrUsage    = fault.ErrUsage
	ErrRange    = fault.ErrRange
	ErrTooLarge = fault.ErrTooLarge
	ErrBroken   = fault.ErrBroken
)

// UnfinishedError is blob.UnfinishedError.
type UnfinishedError struct {
	Base string
	Err  error
}

// Error implements error.
func (e *UnfinishedError) Error() string {
	return e.Base + ": the dataset is committed, but some files do not have their final names: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// InDoubtError is blob.InDoubtError.
type InDoubtError struct {
	Base string
	Err  error
}

// Error implements error.
func (e *InDoubtError) Error() string {
	return e.Base + ": the commit may or may not have succeeded: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *InDoubtError) Unwrap() error { return e.Err }

// Is implements errors.Is.
func (e *InDoubtError) Is(target error) bool { return target == durable.ErrUnsure }
