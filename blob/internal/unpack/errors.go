package unpack

import (
	"fmt"

	"blobio/internal/fault"
)

// formatErr builds an error of package blob, whose files these are.
func formatErr(file string, off int64, field string, class error, format string, args ...any) error {
	return &fault.FormatError{Pkg: "blob", File: file, Offset: off, Field: field, Msg: fmt.Sprintf(format, args...), Err: class}
}
