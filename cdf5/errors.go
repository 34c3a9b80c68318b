package cdf5

import (
	"fmt"

	"blobio/internal/base/fault"
)

// FormatError says what is wrong in a file, in which field and at which byte.
type FormatError = fault.FormatError

// Classes of errors, for errors.Is.
var (
	ErrTruncated   = fault.ErrTruncated   // the file ends before what its header promises
	ErrCorrupt     = fault.ErrCorrupt     // a field holds a value that the format forbids
	ErrVersion     = fault.ErrVersion     // "CDF" with an unknown version byte
	ErrUnsupported = fault.ErrUnsupported // HDF5 (netCDF-4) behind a netCDF name
	ErrNotFormat   = fault.ErrNotFormat   // not a CDF file
	ErrTooLarge    = fault.ErrTooLarge    // a header over DecodeOptions.MaxHeader; a value over the limits of the version
	ErrRange       = fault.ErrRange       // a value does not fit the external type
	ErrUsage       = fault.ErrUsage       // a wrong argument
)

// RangeError says which element of a conversion does not fit its target.
// errors.Is(err, ErrRange) holds.
type RangeError struct {
	Index int64 // element index in the source slice
	Value any   // the value there, in its own type
	Type  Type  // the type it does not fit
}

// Error implements error.
func (e *RangeError) Error() string {
	return fmt.Sprintf("element %d: %v does not fit %s", e.Index, e.Value, e.Type)
}

// Unwrap returns ErrRange.
func (e *RangeError) Unwrap() error { return ErrRange }
