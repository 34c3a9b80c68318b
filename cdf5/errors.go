package cdf5

import (
	"fmt"

	"blobio/internal/base/fault"
)

// FormatError describes a fault in a file, with its field and offset.
type FormatError = fault.FormatError

// Classes of errors, for errors.Is.
var (
	ErrTruncated   = fault.ErrTruncated   // the file is shorter than its header requires
	ErrCorrupt     = fault.ErrCorrupt     // a field holds a value that the format forbids
	ErrVersion     = fault.ErrVersion     // "CDF" with an unknown version byte
	ErrUnsupported = fault.ErrUnsupported // HDF5 (netCDF-4) under a netCDF name
	ErrNotFormat   = fault.ErrNotFormat   // not a CDF file
	ErrTooLarge    = fault.ErrTooLarge    // a header over DecodeOptions.MaxHeader, or a value over a limit of the version
	ErrRange       = fault.ErrRange       // a value does not fit the external type
	ErrUsage       = fault.ErrUsage       // a wrong argument
)

// RangeError describes an element that does not fit the target of a conversion. errors.Is(err, ErrRange) holds.
type RangeError struct {
	Index int64 // index in the source slice
	Value any   // the value, with its type in memory
	Type  Type  // the target type
}

// Error implements error.
func (e *RangeError) Error() string {
	return fmt.Sprintf("element %d: %v does not fit %s", e.Index, e.Value, e.Type)
}

// Unwrap returns ErrRange.
func (e *RangeError) Unwrap() error { return ErrRange }
