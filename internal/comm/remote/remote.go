// Package remote encodes errors for ranks in other heaps. It preserves the text of an error, and which sentinels the error wraps.
package remote

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"syscall"

	"blobio/internal/base/fault"
)

// Errors of ranks whose calls do not match. Package comm re-exports them.
var (
	ErrMismatch = errors.New("collective mismatch")
	ErrExited   = errors.New("rank has returned")
	ErrDeadlock = errors.New("deadlock")
)

// sentinels are the errors whose identity is preserved. Bit i of the class word stands for sentinels[i]. All ranks must run the
// same build.
var sentinels = [...]error{
	fault.ErrTruncated, fault.ErrChecksum, fault.ErrCorrupt, fault.ErrVersion, fault.ErrUnsupported,
	fault.ErrNotFormat, fault.ErrTooLarge, fault.ErrNotCommitted, fault.ErrMapMismatch, fault.ErrRange,
	fault.ErrExist, fault.ErrMissing, fault.ErrBroken, fault.ErrUsage,
	ErrMismatch, ErrExited, ErrDeadlock,
	context.Canceled, context.DeadlineExceeded,
	fs.ErrExist, fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed,
	io.EOF, io.ErrUnexpectedEOF, io.ErrShortWrite, syscall.ENOSPC, syscall.EDQUOT, errors.ErrUnsupported, fault.ErrInUse, fault.ErrChanged,
	fault.ErrNoVersion, fault.ErrTainted,
}

const maxErrorText = 16 << 10 // in bytes; enough for a panic with its stack

// Encode encodes an error for Decode on a rank without a common heap: 8 bytes of classes, little-endian, and at most about 16 KiB
// of text.
func Encode(err error) []byte {
	var classes uint64
	for i, s := range sentinels {
		if errors.Is(err, s) {
			classes |= 1 << i
		}
	}
	text := err.Error()
	if len(text) > maxErrorText {
		text = text[:maxErrorText] + " ..."
	}
	return append(binary.LittleEndian.AppendUint64(nil, classes), text...)
}

// Decode is the inverse of Encode. errors.Is finds the sentinels that the encoded error wraps, if they are in the list sentinels.
// All ranks must run the same build.
func Decode(b []byte) error {
	if len(b) < 8 {
		return &remoteError{text: "the error of another rank could not be decoded"}
	}
	return &remoteError{binary.LittleEndian.Uint64(b), string(b[8:])}
}

// remoteError is an error from a rank in another heap.
type remoteError struct {
	classes uint64
	text    string
}

func (e *remoteError) Error() string { return e.text }

// Is implements errors.Is.
func (e *remoteError) Is(target error) bool {
	for i, s := range sentinels {
		if e.classes&(1<<i) != 0 && s == target {
			return true
		}
	}
	return false
}
