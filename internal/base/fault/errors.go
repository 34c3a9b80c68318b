package fault

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// At is an error about a place in a file: off is in bytes, -1 if it is not known, and class may be nil. Of a format
// "..., want ..." both sides are kept apart, too.
func At(file string, off int64, field string, class error, format string, args ...any) *FormatError {
	e := &FormatError{File: file, Offset: off, Field: field, Msg: fmt.Sprintf(format, args...), Err: class}
	e.Found, e.Wanted = sides(e.Msg, format, args)
	return e
}

// In is At of a field whose offset is not known.
func In(file, field string, class error, format string, args ...any) *FormatError {
	return At(file, -1, field, class, format, args...)
}

// Class is an error of a class, which stands behind the text.
func Class(class error, format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args[:len(args):len(args)], class)...)
}

// Usage is an error about a wrong argument, of class ErrUsage. The text does not name the class, which says nothing to the
// one who gave the argument.
func Usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ error }

func (e *usageError) Unwrap() []error { return []error{e.error, ErrUsage} }

// Exhausted reports whether the process, or the system, has too many files open or no memory left: such an error is not about a file.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// sides takes a text apart that says what was found and what is wanted.
func sides(msg, format string, args []any) (found, wanted string) {
	const want = ", want "
	left, _, ok := strings.Cut(format, want)
	if !ok || strings.Count(format, want) != 1 || strings.ContainsAny(format, "*[") {
		return "", ""
	}
	n := strings.Count(left, "%") - 2*strings.Count(left, "%%")
	if n < 0 || n > len(args) {
		return "", ""
	}
	found = fmt.Sprintf(left, args[:n]...)
	return found, strings.TrimPrefix(msg, found+want)
}

// classes are those that ClassOf knows, the more telling first.
var classes = []error{ErrTruncated, ErrChecksum, ErrVersion, ErrUnsupported, ErrNotFormat, ErrTooLarge, ErrNotCommitted, ErrMapMismatch,
	ErrExist, ErrMissing, ErrBroken, ErrInUse, ErrRange, ErrCorrupt, ErrUsage}

// ClassOf is the class of an error, nil if it has none. An error that holds no other one is its own class.
func ClassOf(err error) error {
	if err == nil {
		return nil
	}
	for _, c := range classes {
		if errors.Is(err, c) {
			return c
		}
	}
	switch err.(type) {
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		return nil
	}
	return err
}
