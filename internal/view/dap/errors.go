package dap

import (
	"errors"
	"strconv"

	"blobio/internal/base/fault"
)

// Codes of Error objects, with the OPeNDAP library's numbers.
const (
	CodeUnknown      = 1001
	CodeNoFile       = 1003
	CodeNoVariable   = 1004
	CodeMalformed    = 1005
	CodeUnauthorized = 1006
	CodeCannotRead   = 1007
)

// ErrNoVariable means that a constraint names a nonexistent variable. The error is also ErrUsage.
var ErrNoVariable = errors.New("no such variable")

// Code returns the code of an error of this package or of the ReadFunc.
func Code(err error) int {
	switch {
	case errors.Is(err, ErrNoVariable):
		return CodeNoVariable
	case errors.Is(err, fault.ErrUsage), errors.Is(err, fault.ErrUnsupported), errors.Is(err, fault.ErrTooLarge):
		return CodeMalformed
	}
	return CodeCannotRead
}

// AppendError appends an Error object.
func AppendError(b []byte, code int, message string) []byte {
	b = append(b, "Error {\n    code = "...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, ";\n    message = "...)
	b = appendQuoted(b, fault.Printable(message))
	return append(b, ";\n};\n"...)
}
