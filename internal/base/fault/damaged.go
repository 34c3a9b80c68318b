package fault

import (
	"errors"
	"slices"
)

// Damaged says that an error tells of damage, as a check would: data, or what they hang on, are lost or cannot be trusted. What is not
// implemented here, what this process has no room for, a wrong argument and a name that is not there are none. One part of an error that is
// damage suffices. A file of another format is damage where it stands for a part of something; other says of a file that it
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
