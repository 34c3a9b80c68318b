package h5

import (
	"blobio/internal/fault"
)

// pkg makes the errors of this package.
const pkg fault.Pkg = "h5"

// FormatError is the error for everything that is wrong with a file; Offset
// is the absolute byte offset of the field at fault.
type FormatError = fault.FormatError

// Classes of errors, for errors.Is.
var (
	// ErrTruncated: the file ends before the end that its metadata tell.
	ErrTruncated = fault.ErrTruncated
	// ErrChecksum: a metadata block, or a chunk with the fletcher32 filter, does not match its checksum.
	ErrChecksum = fault.ErrChecksum
	// ErrCorrupt: a field holds a value that the format forbids.
	ErrCorrupt = fault.ErrCorrupt
	// ErrUnsupported: valid HDF5, but outside the subset; the message names the feature.
	ErrUnsupported = fault.ErrUnsupported
	// ErrNotFormat: no HDF5 signature at 0, 512, 1024, 2048, ...
	ErrNotFormat = fault.ErrNotFormat
	// ErrTooLarge: a length is over the cap that protects memory.
	ErrTooLarge = fault.ErrTooLarge
	// ErrRange: a value does not fit the type of the file or of the destination.
	ErrRange = fault.ErrRange
	// ErrMissing: no member or attribute of that name.
	ErrMissing = fault.ErrMissing
	// ErrExist: two members or attributes of one object have the same name.
	ErrExist = fault.ErrExist
	// ErrUsage: an argument is wrong.
	ErrUsage = fault.ErrUsage
)

// errAt returns a FormatError for the field at absolute file offset off.
func (f *File) errAt(off int64, field string, class error, format string, args ...any) error {
	return pkg.At(f.name, off, field, class, format, args...)
}
