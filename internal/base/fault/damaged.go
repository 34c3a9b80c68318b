package fault

import (
	"errors"
	"slices"
)

// Damaged reports whether an error means damage in the sense of a check: data, or metadata that are needed to read them, are lost
// or cannot be trusted. Unsupported features, an exhausted process, a wrong argument and a missing name are not damage. A joined
// error is damage if any of its parts is damage. A file with another format is damage, unless other reports that the file may
// have another format.
func Damaged(err error, other func(file string) bool) bool {
	return !Exhausted(err) && damaged(err, other)
}

func damaged(err error, other func(file string) bool) bool {
	switch x := err.(type) {
	case *usageError:
		return false
	case *FormatError:
		return x.damaged(other)
	case interface{ Unwrap() error }:
		return damaged(x.Unwrap(), other)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(x.Unwrap(), func(err error) bool { return damaged(err, other) })
	}
	return isAny(err, ErrTruncated, ErrChecksum, ErrCorrupt) && !isAny(err, ErrUsage, ErrUnsupported, ErrVersion) // an error from another process is one value that has the classes of all its parts
}

// damaged is Damaged for an error of one file.
func (e *FormatError) damaged(other func(file string) bool) bool {
	switch err := e.Err; {
	case isAny(err, ErrUnsupported, ErrVersion, ErrUsage):
		return false
	case isAny(err, ErrNotFormat):
		return e.File != "" && !other(e.File)
	case isAny(err, ErrTooLarge): // a length in the file is wrong; without an offset, the output is too large
		return e.Offset >= 0
	default:
		return isAny(err, ErrTruncated, ErrChecksum, ErrCorrupt, ErrMissing, ErrMapMismatch)
	}
}

func isAny(err error, classes ...error) bool {
	return slices.ContainsFunc(classes, func(c error) bool { return errors.Is(err, c) })
}
