package comm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"strings"
	"syscall"

	"blobio/internal/base/fault"
)

// Agree is a collective: each rank gives its error or nil, and either all return nil or
// all return an error. A failing rank returns its own error; the others return the error
// of the lowest failing rank, as a *RankError. (A failing rank returns that one too, in the
// same chain, if it is another rank's.) The Comm stays usable: an agreed
// error breaks nothing. An error upon which the ranks of c have agreed before keeps its
// rank and its text.
//
// errors.Is finds the errors that the failing rank's error wraps on every rank. Ranks without a
// common heap get its text, and errors.Is holds for the sentinels of this
// module and of package context, and for the common ones of package fs.
//
// If the Comm is broken, Agree returns that (with the rank's own error).
func Agree(ctx context.Context, c Comm, err error) error {
	_, err = AgreeMin(ctx, c, err)
	return err
}

// AgreeMin is Agree and, in the same step, AllreduceInt64 of v by Min. (For a maximum of x, pass ^x:
// the minimum of ^x is ^ of the maximum of x.) The minima are returned with an agreed error, too. If
// the Comm breaks in that step they are nil, and other ranks may not have err.
func AgreeMin(ctx context.Context, c Comm, err error, v ...int64) ([]int64, error) {
	first := int64(math.MaxInt64)
	if err != nil {
		first = int64(c.Rank())
	}
	all, e := c.AllreduceInt64(ctx, append([]int64{first}, v...), Min)
	if e != nil {
		return nil, with(err, e)
	}
	if all[0] == math.MaxInt64 {
		return all[1:], nil
	}
	return all[1:], tellError(ctx, c, int(all[0]), err)
}

// tellError gives all ranks the error of root.
func tellError(ctx context.Context, c Comm, root int, err error) error {
	told, rank := err, c.Rank()
	if re, ok := err.(*RankError); ok && sameComm(re.in, c) {
		told, rank = re.Err, re.Rank
	}
	shared, e := c.Share(ctx, told)
	if e != nil {
		return with(err, e)
	}
	var b []byte
	if c.Rank() == root {
		b = append(binary.LittleEndian.AppendUint64(nil, uint64(rank)), EncodeError(told)...)
	}
	if b, e = c.Bcast(ctx, root, b); e != nil {
		return with(err, e)
	}
	cause, ok := shared[root].(error)
	if !ok {
		cause = DecodeError(b[8:])
	}
	re := &RankError{int(binary.LittleEndian.Uint64(b)), cause, c}
	if c.Rank() == root {
		return re
	}
	return with(err, re)
}

// MetBy is an error that another rank of c has sent to this one, as by Gather: if the ranks of c agree upon it, it stays that rank's.
func MetBy(c Comm, rank int, err error) *RankError { return &RankError{rank, err, c} }

// sameComm is true of the same Comm.
func sameComm(a, b Comm) bool {
	return a != nil && reflect.TypeOf(a).Comparable() && a == b
}

// with returns other, together with the rank's own error if there is one that does not include it.
func with(own, other error) error {
	if own == nil {
		return other
	}
	if strings.Contains(own.Error(), other.Error()) {
		return own
	}
	return &agreedError{own, other}
}

// agreedError is the error of a rank, and the error upon which all agreed.
type agreedError struct{ own, other error }

func (e *agreedError) Error() string   { return fmt.Sprintf("%v (and %v)", e.own, e.other) }
func (e *agreedError) Unwrap() []error { return []error{e.own, e.other} }

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

// EncodeError makes bytes of an error that DecodeError turns into one with the same text,
// for engines whose ranks have no common heap: 8 bytes of classes, little-endian, and the
// text, at most some 16 KiB of it.
func EncodeError(err error) []byte {
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

// DecodeError is the reverse of EncodeError. errors.Is of its result holds for the
// sentinels that Agree names. All ranks must run the same build.
func DecodeError(b []byte) error {
	if len(b) < 8 {
		return &remoteError{text: "an error that could not be decoded"}
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
