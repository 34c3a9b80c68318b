package versioned

import (
	"errors"

	"blobio/internal/fault"
)

// Classes of errors, re-exported.
var (
	ErrUsage     = fault.ErrUsage
	ErrExist     = fault.ErrExist
	ErrMissing   = fault.ErrMissing
	ErrBroken    = fault.ErrBroken
	ErrChecksum  = fault.ErrChecksum
	ErrCorrupt   = fault.ErrCorrupt
	ErrNotFormat = fault.ErrNotFormat
	ErrTruncated = fault.ErrTruncated
	ErrVersion   = fault.ErrVersion // made by a newer program
	ErrRange     = fault.ErrRange   // a box or index outside of the array
)

var (
	// ErrNoVersion: there is no such version, or no longer.
	ErrNoVersion = errors.New("no such version")
	// ErrConflict: another program has changed the store since it was opened.
	ErrConflict = fault.ErrInUse
	// ErrTainted: the versions are marked as tainted. OpenAt opens one all the same.
	ErrTainted = errors.New("tainted")
	// ErrKey: the store is encrypted, and the key is missing or another one.
	ErrKey = errors.New("wrong key")
)

// FormatError says what is wrong with a file of a store, and where.
type FormatError = fault.FormatError
