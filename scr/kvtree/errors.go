package kvtree

import (
	"fmt"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// FormatError is a fault in a tree file. It contains the position of the fault.
type FormatError = fault.FormatError

// Classes of damage, re-exported. docs/format-kvtree.md lists the class of each fault.
var (
	ErrTruncated = fault.ErrTruncated // the file is shorter than its header requires
	ErrChecksum  = fault.ErrChecksum  // the CRC-32 does not match
	ErrCorrupt   = fault.ErrCorrupt   // an invalid size, count or key
	ErrNotFormat = fault.ErrNotFormat // wrong magic number
	ErrTooLarge  = fault.ErrTooLarge  // above a limit of Options or of the format
)

// Classes of values, re-exported.
var (
	ErrMissing = fault.ErrMissing // a key or its value does not exist
	ErrRange   = fault.ErrRange   // a number does not fit the requested type
)

// Update and ReadLocked return ErrNoLocks if the file system does not support locks. Such a file system rejects locks, or grants
// the same exclusive lock to two descriptors.
var ErrNoLocks = vfs.ErrNoLocks

// valueError is the error of a typed getter. Its class is ErrMissing, ErrRange or ErrCorrupt.
type valueError struct {
	Key  string
	Text string // the value, if there is exactly one
	Msg  string
	Err  error // class of the error
}

// Error implements error.
func (e *valueError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%.80q: %s", e.Key, e.Msg)
	}
	return fmt.Sprintf("%.80q = %.80q: %s", e.Key, e.Text, e.Msg)
}

// Unwrap returns the class.
func (e *valueError) Unwrap() error { return e.Err }
