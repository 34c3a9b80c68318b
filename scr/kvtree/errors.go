package kvtree

import (
	"fmt"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// FormatError is an error in a tree file, with the place.
type FormatError = fault.FormatError

// Classes of damage, re-exported. docs/format-kvtree.md has the class of each fault.
var (
	ErrTruncated = fault.ErrTruncated // the file ends before what its header promises
	ErrChecksum  = fault.ErrChecksum  // the CRC-32 does not match
	ErrCorrupt   = fault.ErrCorrupt   // a size, a count or a key that cannot be
	ErrNotFormat = fault.ErrNotFormat // another magic number
	ErrTooLarge  = fault.ErrTooLarge  // over a limit of Options, or of the format
)

// Classes of values, re-exported.
var (
	ErrMissing = fault.ErrMissing // a key, or the value of a key, is not there
	ErrRange   = fault.ErrRange   // a number does not fit the type asked for
)

// ErrNoLocks is returned by Update and ReadLocked when the file system does not lock: it refuses, or gives the
// same exclusive lock to two descriptors.
var ErrNoLocks = vfs.ErrNoLocks

// valueError is the error of a typed getter. Its class is ErrMissing, ErrRange or ErrCorrupt.
type valueError struct {
	Key  string
	Text string // the value found, if there is just one
	Msg  string
	Err  error // the class
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
