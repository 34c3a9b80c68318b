package config

import (
	"errors"
	"fmt"

	"blobio/internal/base/fault"
)

// Classes of errors.
var (
	ErrUsage    = fault.ErrUsage                                         // a value, a line or a name that makes no sense
	ErrLocked   = errors.New("settings cannot change while SCR is open") // Config that sets something after Lock
	ErrNotYours = errors.New("the program may not set this parameter")   // Config of a name that is restricted
)

// SyntaxError says where a line of a file (or a text given to Config) cannot be
// read. Its class is ErrUsage.
type SyntaxError struct {
	File   string // "" for a text given to Config
	Line   int    // from 1
	Column int    // in bytes, from 1
	Msg    string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: %s", position(e.File, e.Line, e.Column), e.Msg)
}

// Unwrap returns ErrUsage.
func (e *SyntaxError) Unwrap() error { return ErrUsage }

// ValueError says that a parameter, or the field of a descriptor, has a value
// that makes no sense, and where it was set. Its class is ErrUsage.
type ValueError struct {
	Name   string // SCR_FLUSH, or CKPT=1 INTERVAL
	Value  string
	Origin Origin
	Msg    string // the values that are allowed
}

// Error implements error.
func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: %s is %q, want %s", e.Origin, e.Name, e.Value, e.Msg)
}

// Unwrap returns ErrUsage.
func (e *ValueError) Unwrap() error { return ErrUsage }

func position(file string, line, column int) string {
	if file == "" {
		file = "setting"
	}
	if column > 0 {
		return fmt.Sprintf("%s:%d:%d", file, line, column)
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Source is one of the five places.
type Source int

// The places, in the order in which they are looked at.
const (
	Unset Source = iota
	Environment
	UserFile
	Program
	SystemFile
	Default
)

var sourceNames = [...]string{"not set", "environment", "user file", "program", "system file", "default"}

// String names the place.
func (s Source) String() string {
	if s < 0 || int(s) >= len(sourceNames) {
		return "unknown"
	}
	return sourceNames[s]
}

// Origin is where a value was set.
type Origin struct {
	Source Source
	File   string // of UserFile and SystemFile
	Line   int    // of UserFile and SystemFile, from 1
}

// String is file:line, or the name of the place.
func (o Origin) String() string {
	if o.File != "" {
		return position(o.File, o.Line, 0)
	}
	return o.Source.String()
}
