package h5

import (
	"blobio/internal/base/fault"
)

// errAt returns a FormatError for the field at absolute file offset off.
func (f *File) errAt(off int64, field string, class error, format string, args ...any) error {
	return fault.At(f.name, off, field, class, format, args...)
}
