package fault

import (
	"errors"
	"slices"
)

// Damaged reports whether an error means damage, as a check would judge: data, or what they depend on, are lost or cannot be trusted. Features that
// are not implemented here, a lack of room in this process, a wrong argument and a name that is not there are no damage. One part of an error that
// is damage suffices. A file of another format is damage where it stands for a part of something; other reports whether a file
// may well be of another format.
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
	return isAny(err, ErrTruncated, ErrChecksum, ErrCorrupt) && !isAny(err, ErrUsage, ErrUnsupported, ErrVersion) // of another process, all in one
}

// damaged is Damaged of what is wrong with one file.
func (e *FormatError) damaged(other func(file string) bool) bool {
	switch err := e.Err; {
	case isAny(err, ErrUnsupported, ErrVersion, ErrUsage):
		return false
	case isAny(err, ErrNotFormat):
		return e.File != "" && !other(e.File)
	case isAny(err, ErrTooLarge): // a length that stands in the file, not one that the output would have
		return e.Offset >= 0
	default:
		return isAny(err, ErrTruncated, ErrChecksum, ErrCorrupt, ErrMissing, ErrMapMismatch)
	}
}

// isAny says that an error is one of these.
func isAny(err error, classes ...error) bool {
	return slices.ContainsFunc(classes, func(c error) bool { return errors.Is(err, c) })
}
