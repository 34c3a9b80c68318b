package layout

import (
	"encoding/binary"
	"fmt"

	"blobio/internal/fault"
)

// formatErr builds an error of package blob, whose files these are.
func formatErr(file string, off int64, field string, class error, format string, args ...any) error {
	return &fault.FormatError{Pkg: "blob", File: file, Offset: off, Field: field, Msg: fmt.Sprintf(format, args...), Err: class}
}

func orderOf(big bool) binary.ByteOrder {
	if big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
