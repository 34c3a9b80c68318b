// Package remote takes an error to ranks in another heap: its text, and the sentinels that it wraps.
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

// Ways in which ranks fail to meet; package comm has them, too.
var (
	ErrMismatch = errors.New("collective mismatch")
	ErrExited   = errors.New("rank has returned")
	ErrDeadlock = errors.New("deadlock")
)

// sentinels are the errors whose identity travels between ranks: bit i of a class
// word stands for sentinels[i]. All ranks run the same build.
var sentinels = [...]error{
	fault.ErrTruncated, fault.ErrChecksum, fault.ErrCorrupt, fault.ErrVersion, fault.ErrUnsupported,
	fault.ErrNotFormat, fault.ErrTooLarge, fault.ErrNotCommitted, fault.ErrMapMismatch, fault.ErrRange,
	fault.ErrExist, fault.ErrMissing, fault.ErrBroken, fault.ErrUsage,
	ErrMismatch, ErrExited, ErrDeadlock,
	context.Canceled, context.DeadlineExceeded,
	fs.ErrExist, fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed,
	io.EOF, io.ErrUnexpectedEOF, io.ErrShortWrite, syscall.ENOSPC, syscall.EDQUOT, errors.ErrUnsupported, fault.ErrInUse, fault.ErrChanged,
}

const maxErrorText = 16 << 10 // bytes; room for a panic with its stack

// Encode makes bytes of an error that Decode turns into one with the same text,
// for engines whose ranks have no common heap: 8 bytes of classes, little-endian, and the
// text, at most some 16 KiB of it.
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

// Decode is the reverse of Encode. errors.Is of its result holds for the
// sentinels that comm.Agree names. All ranks must run the same build.
func Decode(b []byte) error {
	if len(b) < 8 {
		return &remoteError{text: "the error of another rank could not be decoded"}
	}
	return &remoteError{binary.LittleEndian.Uint64(b), string(b[8:])}
}

// remoteError is an error of a rank in another heap.
type remoteError struct {
	classes uint64
	text    string
}

func (e *remoteError) Error() string { return e.text }

// Is is for errors.Is.
func (e *remoteError) Is(target error) bool {
	for i, s := range sentinels {
		if e.classes&(1<<i) != 0 && s == target {
			return true
		}
	}
	return false
}
