package pio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"syscall"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// A Code is an error number of PIO and netCDF. errors.Is and errors.As find it in the errors of this package, and CodeOf in any
// error. Positive numbers come from the operating system.
type Code int32

// The error codes, without the prefix PIO_.
const (
	EBADID       Code = -33 // an unknown or closed handle
	EEXIST       Code = -35 // the file already exists
	EINVAL       Code = -36 // a wrong argument
	EPERM        Code = -37 // a write to a file opened for reading
	ENOTINDEFINE Code = -38 // a definition in data mode
	EINDEFINE    Code = -39 // data in define mode
	EINVALCOORDS Code = -40 // an index beyond a dimension
	EMAXDIMS     Code = -41 // a variable with more than 1024 dimensions
	ENAMEINUSE   Code = -42 // a dimension or variable already has the name
	ENOTATT      Code = -43 // no such attribute
	EBADTYPE     Code = -45 // not a type of CDF-5
	EBADDIM      Code = -46 // no such dimension
	ENOTVAR      Code = -49 // no such variable
	ENOTNC       Code = -51 // the file is not a dataset
	EUNLIMIT     Code = -54 // a second unlimited dimension
	ECHAR        Code = -56 // text for numbers, or numbers for text
	EEDGE        Code = -57 // start and count go beyond a dimension
	ESTRIDE      Code = -58 // a stride below 1
	EBADNAME     Code = -59 // a name that netCDF does not allow
	ERANGE       Code = -60 // a value that does not fit the type
	ENOMEM       Code = -61 // a memory limit is exceeded
	EVARSIZE     Code = -62 // a variable larger than 2^63-1 bytes
	EDIMSIZE     Code = -63 // an invalid dimension length
	ETRUNC       Code = -64 // the file is shorter than its header requires

	EVARDIMMISMATCH Code = -501 // a decomposition that does not fit the variable
)

var codeTexts = map[Code]string{
	EBADID: "bad id", EEXIST: "the file exists", EINVAL: "invalid argument", EPERM: "the file was opened for reading", ENOTINDEFINE: "not in define mode",
	EINDEFINE: "in define mode", EINVALCOORDS: "index exceeds a dimension", EMAXDIMS: "too many dimensions", ENAMEINUSE: "name is in use", ENOTATT: "no such attribute",
	EBADTYPE: "not a type of CDF-5, which has no strings", EBADDIM: "no such dimension", ENOTVAR: "no such variable",
	ENOTNC: "neither blobs nor netCDF", EUNLIMIT: "a second unlimited dimension", ECHAR: "text and numbers do not convert",
	EEDGE: "start and count exceed a dimension", ESTRIDE: "stride below 1", EBADNAME: "name has forbidden characters", ERANGE: "value does not fit the type",
	ENOMEM: "over the limit of memory", EVARSIZE: "variable is too large", EDIMSIZE: "invalid length of a dimension", ETRUNC: "file is truncated",
	EVARDIMMISMATCH: "the decomposition does not fit the variable",
}

// Error returns the description of the code.
func (c Code) Error() string {
	if s, ok := codeTexts[c]; ok {
		return s
	}
	if c > 0 {
		return syscall.Errno(c).Error()
	}
	return fmt.Sprintf("error %d", int32(c))
}

// failed returns an error with a code.
func failed(c Code, format string, args ...any) error { return fault.Class(c, format, args...) }

// CodeOf returns the code of any error, 0 for nil.
func CodeOf(err error) Code {
	var c Code
	var no syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &c):
		return c
	case errors.Is(err, fault.ErrRange):
		return ERANGE
	case errors.Is(err, fault.ErrTooLarge):
		return ENOMEM
	case errors.Is(err, fault.ErrExist), errors.Is(err, fs.ErrExist):
		return EEXIST
	case errors.As(err, &no):
		return Code(no)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fault.ErrMissing):
		return Code(syscall.ENOENT)
	case errors.Is(err, fs.ErrPermission):
		return Code(syscall.EACCES)
	case errors.Is(err, fault.ErrTruncated):
		return ETRUNC
	case errors.Is(err, fault.ErrNotFormat), errors.Is(err, fault.ErrVersion), errors.Is(err, fault.ErrCorrupt):
		return ENOTNC
	case errors.Is(err, fault.ErrInUse):
		return Code(syscall.EBUSY)
	case errors.Is(err, fault.ErrUsage), errors.Is(err, fault.ErrUnsupported):
		return EINVAL
	}
	return Code(syscall.EIO)
}

// coded is another rank's error with its code.
type coded struct {
	error
	code Code
}

func (e *coded) Unwrap() []error { return []error{e.error, e.code} }

// Agree is comm.Agree for errors with codes. An error from another process keeps its text, its class and its Code. Collective.
func Agree(ctx context.Context, c comm.Comm, err error) error { return agree(ctx, c, err) }

func agree(ctx context.Context, c comm.Comm, err error) error {
	_, err = agreeMin(ctx, c, err)
	return err
}

// agreeMin is comm.AgreeMin for errors with codes.
func agreeMin(ctx context.Context, c comm.Comm, err error, v ...int64) ([]int64, error) {
	code := int64(CodeOf(err))
	if code > 0 {
		code = math.MinInt32 + code
	}
	got, agreed := comm.AgreeMin(ctx, c, err, append(v, code)...)
	if agreed == nil {
		return got[:len(v)], nil
	}
	if got == nil {
		return nil, agreed
	}
	var have Code
	if code = got[len(v)]; !errors.As(agreed, &have) && code != 0 {
		if code < math.MinInt32/2 {
			code -= math.MinInt32
		}
		agreed = &coded{agreed, Code(code)}
	}
	return got[:len(v)], agreed
}

// agreeCode adds the code to an error on which the ranks have agreed without codes. Collective.
func agreeCode(ctx context.Context, c comm.Comm, agreed error) error {
	mine := agreed
	if rank, ok := agreed.(*comm.RankError); ok && rank.Rank != c.Rank() {
		mine = nil
	}
	err := agree(ctx, c, mine)
	if err == nil || errors.Is(err, comm.ErrBroken) {
		return agreed
	}
	return err
}
