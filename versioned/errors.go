package versioned

import (
	"errors"

	"blobio/internal/base/fault"
)

// Classes of errors, re-exported.
var (
	ErrExist     = fault.ErrExist
	ErrMissing   = fault.ErrMissing
	ErrBroken    = fault.ErrBroken
	ErrChecksum  = fault.ErrChecksum
	ErrCorrupt   = fault.ErrCorrupt
	ErrNotFormat = fault.ErrNotFormat
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
