package fault

import (
	"errors"
	"fmt"
	"strings"
)

// A Pkg is the name of a package, and makes its errors. The name stands once, at the front of the text: that of
// packages below is left out. Text is an error without it.
type Pkg string

// At is an error about a place in a file: off is in bytes, -1 if it is not known, and class may be nil. Of a format
// "..., want ..." both sides are kept apart, too.
func (p Pkg) At(file string, off int64, field string, class error, format string, args ...any) *FormatError {
	bare(args)
	e := &FormatError{Pkg: string(p), File: file, Offset: off, Field: field, Msg: fmt.Sprintf(format, args...), Err: class}
	e.Found, e.Wanted = sides(e.Msg, format, args)
	return e
}

// In is At of a field whose offset is not known.
func (p Pkg) In(file, field string, class error, format string, args ...any) *FormatError {
	return p.At(file, -1, field, class, format, args...)
}

// Errorf is fmt.Errorf of the package.
func (p Pkg) Errorf(format string, args ...any) error {
	bare(args)
	return &pkgError{string(p), fmt.Errorf(format, args...)}
}

// Class is an error of a class, which stands behind the text.
func (p Pkg) Class(class error, format string, args ...any) error {
	bare(args)
	return &classError{string(p), fmt.Errorf(format, args...), class}
}

// Usage is an error about a wrong argument, of class ErrUsage.
func (p Pkg) Usage(format string, args ...any) error {
	return p.Class(ErrUsage, format, args...)
}

// pkgError is an error with the package that it comes from.
type pkgError struct {
	pkg string
	err error
}

func (e *pkgError) Error() string   { return e.pkg + ": " + e.err.Error() }
func (e *pkgError) Unwrap() error   { return e.err }
func (e *pkgError) Package() string { return e.pkg }

// classError is an error of a class that its text does not hold yet.
type classError struct {
	pkg   string
	err   error
	class error
}

func (e *classError) Error() string   { return e.pkg + ": " + e.err.Error() + ": " + e.class.Error() }
func (e *classError) Unwrap() []error { return []error{e.err, e.class} }
func (e *classError) Package() string { return e.pkg }

// bareError is an error that is told without its package within another.
type bareError struct {
	err  error
	text string
}

func (e *bareError) Error() string { return e.text }
func (e *bareError) Unwrap() error { return e.err }

// bare takes the names of packages from the errors in args, which it changes.
func bare(args []any) {
	for i, a := range args {
		if err, ok := a.(error); ok {
			if t := text(err, true); t != err.Error() {
				args[i] = &bareError{err, t}
			}
		}
	}
}

// Text is the text of an error without names of packages, and without the class ErrUsage, which says nothing to the
// one who gave the argument. Errors that do not come from here are asked for their method Package.
func Text(err error) string { return text(err, false) }

// text is Text, with ErrUsage if usage.
func text(err error, usage bool) string {
	if e, ok := err.(*bareError); ok {
		return text(e.err, usage)
	}
	s := err.Error()
	if e, ok := err.(interface{ Package() string }); ok {
		s = strings.TrimPrefix(s, e.Package()+": ")
	}
	for _, x := range unwrap(err) {
		switch {
		case x == nil:
		case x == ErrUsage && !usage:
			s = withoutUsage.Replace(s)
		default:
			s = strings.Replace(s, x.Error(), text(x, usage), 1)
		}
	}
	return s
}

// withoutUsage takes ErrUsage from the text of an error that wraps it.
var withoutUsage = strings.NewReplacer(": "+ErrUsage.Error(), "", ErrUsage.Error()+": ", "", " ("+ErrUsage.Error()+")", "")

// unwrap is what an error holds.
func unwrap(err error) []error {
	switch u := err.(type) {
	case interface{ Unwrap() []error }:
		return u.Unwrap()
	case interface{ Unwrap() error }:
		return []error{u.Unwrap()}
	}
	return nil
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
	if len(unwrap(err)) == 0 {
		return err
	}
	return nil
}
