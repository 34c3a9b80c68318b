package fault

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// At returns an error at a byte offset of a file. off is -1 if unknown; class may be nil. A format "..., want ..." also sets
// Found and Wanted.
func At(file string, off int64, field string, class error, format string, args ...any) *FormatError {
	e := &FormatError{File: file, Offset: off, Field: field, Msg: fmt.Sprintf(format, args...), Err: class}
	e.Found, e.Wanted = sides(e.Msg, format, args)
	return e
}

// In is At with an unknown offset.
func In(file, field string, class error, format string, args ...any) *FormatError {
	return At(file, -1, field, class, format, args...)
}

// Class returns an error of a class. The text of the class is appended.
func Class(class error, format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args[:len(args):len(args)], class)...)
}

// Usage returns an error of class ErrUsage about a wrong argument. The text does not contain the class, because the class
// would not help the caller.
func Usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ error }

func (e *usageError) Unwrap() []error { return []error{e.error, ErrUsage} }

// Exhausted reports whether the process or system has too many open files or no memory. Such an error does not concern a file.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// sides splits an error text into the value found and the value wanted.
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

// classes are the classes that ClassOf finds, the more specific first.
var classes = []error{ErrTruncated, ErrChecksum, ErrVersion, ErrUnsupported, ErrNotFormat, ErrTooLarge, ErrNotCommitted, ErrMapMismatch,
	ErrExist, ErrMissing, ErrBroken, ErrInUse, ErrRange, ErrCorrupt, ErrUsage}

// ClassOf returns the class of an error, or nil. An error that wraps no other error is its own class. An error that wraps only
// errors without a known class has none.
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
