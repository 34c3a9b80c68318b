package decomp

import (
	"fmt"

	"blobio/internal/base/fault"
)

// Classes of errors of this package, for errors.Is.
var (
	// ErrRange: a request is outside the array.
	ErrRange = fault.ErrRange
	// ErrUsage: an argument is wrong.
	ErrUsage = fault.ErrUsage
	// ErrMapMismatch: maps that should describe the same array differ.
	ErrMapMismatch = fault.ErrMapMismatch
)

// A RequestError names a request outside the array, and its rank. Its class is ErrRange.
type RequestError struct {
	Rank  int
	Index int64 // index of the request in the rank's list
	Req   Req
	Dims  []int64 // dimensions of the array
}

// Error implements error.
func (e *RequestError) Error() string {
	return fmt.Sprintf("rank %d: request %d with offset %d and length %d is outside the array %v of %d elements",
		e.Rank, e.Index, e.Req.Offset, e.Req.Length, e.Dims, product(e.Dims))
}

// Unwrap returns ErrRange.
func (e *RequestError) Unwrap() error { return ErrRange }
