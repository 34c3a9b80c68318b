package cachedir

import (
	"errors"
	"fmt"

	"blobio/internal/fault"
)

// FormatError says what is wrong with a file.
type FormatError = fault.FormatError

// Classes of errors, re-exported.
var (
	ErrTruncated = fault.ErrTruncated
	ErrChecksum  = fault.ErrChecksum
	ErrCorrupt   = fault.ErrCorrupt
	ErrMissing   = fault.ErrMissing // a file that a map lists is not there
	ErrUsage     = fault.ErrUsage
)

// pkg is the package in errors.
const pkg = "cachedir"

func badField(file, field, format string, args ...any) error {
	return &FormatError{Pkg: pkg, File: file, Offset: -1, Field: field, Msg: fmt.Sprintf(format, args...), Err: ErrCorrupt}
}

// isDamage says whether an error is about the content of a file.
func isDamage(err error) bool {
	var damage *FormatError
	return errors.As(err, &damage)
}
