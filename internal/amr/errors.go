package amr

import (
	"errors"

	"blobio/internal/base/fault"
)

// FormatError describes a fault in an index, a name or a file.
type FormatError = fault.FormatError

// Classes of errors.
var (
	ErrCorrupt = fault.ErrCorrupt // bits or characters that the format forbids
	ErrExist   = fault.ErrExist   // the block already exists
	ErrMissing = fault.ErrMissing // the block does not exist
	ErrRange   = fault.ErrRange   // outside the domain or its levels
	ErrUsage   = fault.ErrUsage   // a wrong argument

	// ErrAmbiguous means that several blocks of the level share the name.
	ErrAmbiguous = errors.New("ambiguous block name")
)
