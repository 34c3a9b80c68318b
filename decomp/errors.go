package decomp

import (
	"fmt"

	"blobio/internal/base/fault"
)

// Classes of errors of this package, for errors.Is.
var (
	// ErrRange: a request does not lie within the array.
	ErrRange = fault.ErrRange
	// ErrUsage: an argument is wrong.
	ErrUsage = fault.ErrUsage
	// ErrMapMismatch: maps that should describe the same array do not.
	ErrMapMismatch = fault.ErrMapMismatch
)

// A RequestError names a request that lies outside the array, and its rank.
// It is of the class ErrRange.
type RequestError struct {
	Rank  int
	Index int64 // position of the request in the list of the rank, from 0
	Req   Req
	Dims  []int64 // of the array
}

// Error implements error.
func (e *RequestError) Error() string {
	return fmt.Sprintf("rank %d: request %d with offset %d and length %d is outside the array %v of %d elements",
		e.Rank, e.Index, e.Req.Offset, e.Req.Length, e.Dims, product(e.Dims))
}

// Unwrap returns ErrRange.
func (e *RequestError) Unwrap() error { return ErrRange }
