package amr

import (
	"errors"

	"blobio/internal/base/fault"
)

// FormatError says what is wrong with an index, a name or a file.
type FormatError = fault.FormatError

// Classes of errors.
var (
	ErrCorrupt = fault.ErrCorrupt // bits or characters that the format forbids
	ErrExist   = fault.ErrExist   // the block is there already
	ErrMissing = fault.ErrMissing // the block is not there
	ErrRange   = fault.ErrRange   // outside the domain, or of the levels
	ErrUsage   = fault.ErrUsage   // a wrong argument

	// ErrAmbiguous: a block name that several blocks of this level share.
	ErrAmbiguous = errors.New("ambiguous block name")
)
