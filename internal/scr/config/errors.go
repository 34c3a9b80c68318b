package config

import (
	"errors"
	"fmt"

	"blobio/internal/base/fault"
)

// Classes of errors.
var (
	ErrUsage    = fault.ErrUsage                                         // an invalid value, line or name
	ErrLocked   = errors.New("settings cannot change while SCR is open") // Config tried to set a value after Lock
	ErrNotYours = errors.New("the program may not set this parameter")   // Config tried to set a restricted name
)

// SyntaxError is a syntax error in a line of a configuration file or in the text passed to Config. It wraps ErrUsage.
type SyntaxError struct {
	File   string // "" for a text passed to Config
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

// ValueError reports an invalid value of a parameter or of a descriptor field, and the place where the value was set. It
// wraps ErrUsage.
type ValueError struct {
	Name   string // for example SCR_FLUSH, or CKPT=1 INTERVAL
	Value  string
	Origin Origin
	Msg    string // the allowed values
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

// Source is one of the five sources of a parameter.
type Source int

// The sources, in order of precedence.
const (
	Unset Source = iota
	Environment
	UserFile
	Program
	SystemFile
	Default
)

var sourceNames = [...]string{"not set", "environment", "user file", "program", "system file", "default"}

// String names the source.
func (s Source) String() string {
	if s < 0 || int(s) >= len(sourceNames) {
		return "unknown"
	}
	return sourceNames[s]
}

// Origin is the place where a parameter was set.
type Origin struct {
	Source Source
	File   string // for UserFile and SystemFile
	Line   int    // for UserFile and SystemFile, from 1
}

// String returns file:line for a file, and the name of the source for any other origin.
func (o Origin) String() string {
	if o.File != "" {
		return position(o.File, o.Line, 0)
	}
	return o.Source.String()
}
