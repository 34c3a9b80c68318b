package edge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/versioned"
)

// Code is an error code of the C library.
type Code int32

// The codes. 0 is success, errors are negative, and a positive code is success with a condition that the caller must know. A code
// never changes its number.
const (
	HeldBack     Code = 1 // a commit has held back incomplete records
	OK           Code = 0
	Handle       Code = -1  // not an open handle
	Invalid      Code = -2  // an invalid argument
	State        Code = -3  // wrong state: a put before enddef, a definition after it, a put to a dataset open for reading
	Range        Code = -4  // a value or an index is out of range
	Exist        Code = -5  // the dataset already exists
	NotFound     Code = -6  // no such file, variable, dimension or attribute
	Access       Code = -7  // permission denied by the operating system
	Space        Code = -8  // no space, or over the quota
	IO           Code = -9  // another system error
	Memory       Code = -10 // too large for the memory limit or for a format
	Truncated    Code = -11 // a file ends too early
	Checksum     Code = -12 // bytes do not match their checksum
	Corrupt      Code = -13 // a field has a value that the format forbids
	Version      Code = -14 // an unknown format version
	Unsupported  Code = -15 // a feature that is not implemented
	NotFormat    Code = -16 // not a dataset
	NotCommitted Code = -17 // the dataset was never finished
	Missing      Code = -18 // a subfile is missing
	MapMismatch  Code = -19 // decompositions other than the dataset's
	Broken       Code = -20 // an earlier call has failed
	InUse        Code = -21 // another writer holds the name
	Mismatch     Code = -22 // the ranks have made different collective calls
	NoMPI        Code = -23 // the library was built without MPI
	Forked       Code = -24 // the process is a child made by fork
	Fault        Code = -25 // an address that the caller gave cannot be read or written
	Internal     Code = -26 // a bug in this library
	Small        Code = -27 // the caller's buffer is too small
	Stopped      Code = -28 // the callback stopped the call
	Died         Code = -29 // the awaited writer has died
)

// Errors of this package that have no error class in the packages below it.
var (
	ErrHandle   = errors.New("not an open handle")
	ErrState    = errors.New("wrong state")
	ErrNotFound = errors.New("not found")
	ErrFault    = errors.New("bad address")
	ErrSmall    = errors.New("buffer too small")
	ErrNoMPI    = errors.New("built without MPI")
	ErrStopped  = errors.New("stopped by the callback")
	ErrInternal = errors.New("internal error")
)

// codes maps error classes to codes. Of several classes of an error, the one that comes first here counts.
var codes = []struct {
	class error
	code  Code
}{
	{ErrInternal, Internal},
	{ErrFault, Fault},
	{fault.ErrBroken, Broken}, // before the class of the earlier failure
	{ErrHandle, Handle},
	{ErrState, State},
	{ErrSmall, Small},
	{ErrNoMPI, NoMPI},
	{ErrStopped, Stopped},
	{fault.ErrChecksum, Checksum},
	{fault.ErrTruncated, Truncated},
	{fault.ErrCorrupt, Corrupt},
	{fault.ErrVersion, Version},
	{fault.ErrUnsupported, Unsupported},
	{fault.ErrNotFormat, NotFormat},
	{fault.ErrNotCommitted, NotCommitted},
	{fault.ErrMissing, Missing},
	{fault.ErrMapMismatch, MapMismatch},
	{fault.ErrExist, Exist},
	{fault.ErrInUse, InUse},
	{fault.ErrTooLarge, Memory},
	{syscall.ENOSPC, Space},
	{syscall.EDQUOT, Space},
	{fs.ErrNotExist, NotFound},
	{fs.ErrExist, Exist},
	{fs.ErrPermission, Access},
	{syscall.EROFS, Access},
	{ErrNotFound, NotFound},
	{versioned.ErrNoVersion, NotFound},
	{versioned.ErrTainted, NotFound},
	{fault.ErrRange, Range},
	{fault.ErrUsage, Invalid},
	{comm.ErrMismatch, Mismatch},
	{comm.ErrDeadlock, Mismatch},
	{comm.ErrExited, Broken},
}

// CodeOf returns the code of an error.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	if errors.As(err, new(*blob.HeldBackError)) {
		return HeldBack
	}
	if errors.As(err, new(*blob.WriterDiedError)) {
		return Died
	}
	var b *BrokenError
	if errors.As(err, &b) {
		return Broken
	}
	var p *comm.PanicError
	if errors.As(err, &p) {
		return Internal
	}
	for _, c := range codes {
		if errors.Is(err, c.class) {
			return c.code
		}
	}
	return IO
}

// BrokenError is returned by calls on a file after an earlier call has broken it.
type BrokenError struct {
	Path, Call string // path, and name of the call that failed
	Cause      error  // error that the call returned
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s: broken because %s failed: %v", e.Path, e.Call, e.Cause)
}

// Unwrap returns the class ErrBroken, and the cause with its class and location.
func (e *BrokenError) Unwrap() []error { return []error{fault.ErrBroken, e.Cause} }

// Where returns the file and the byte offset that an error names. Without a file it returns "", without an offset -1.
func Where(err error) (file string, offset int64) {
	var f *fault.FormatError
	if errors.As(err, &f) {
		return f.File, f.Offset
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Path, -1
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.New, -1
	}
	return "", -1
}

// Usage returns an error of class ErrUsage.
func Usage(format string, args ...any) error {
	return fault.Usage("%s", fmt.Sprintf(format, args...))
}

// Recovered converts the value of recover to an error.
func Recovered(v any) error {
	if e, ok := v.(interface {
		error
		Addr() uintptr
	}); ok {
		return fmt.Errorf("address %#x: %w", e.Addr(), ErrFault)
	}
	return fmt.Errorf("%v: %w", v, ErrInternal)
}
