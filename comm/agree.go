package comm

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"

	"blobio/internal/comm/remote"
)

// Agree is a collective that shares errors: each rank passes its error or nil, and either all return nil or all return an error.
// A failing rank returns its own error. The other ranks return the error of the lowest failing rank, as a *RankError. (If that is
// another rank, a failing rank returns both in one chain.) An agreed error does not break the Comm. If the ranks of c have agreed
// on an error before, the error keeps its rank and text.
//
// On every rank, errors.Is finds the errors that the failing rank's error wraps. Ranks without a common heap get its text, and
// errors.Is finds only the sentinels of this module and of package context, and common ones of package fs.
//
// If the Comm is broken, Agree returns that error, with the rank's own.
func Agree(ctx context.Context, c Comm, err error) error {
	_, err = AgreeMin(ctx, c, err)
	return err
}

// AgreeMin is Agree and AllreduceInt64 of v by Min in one step. (For the maximum of x, pass ^x: the minimum of ^x is ^ of the
// maximum.) AgreeMin returns the minima with an agreed error, too. If the Comm breaks in this step, the minima are nil, and other
// ranks may not have err.
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

// tellError sends the error of root to all ranks.
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
		b = append(binary.LittleEndian.AppendUint64(nil, uint64(rank)), remote.Encode(told)...)
	}
	if b, e = c.Bcast(ctx, root, b); e != nil {
		return with(err, e)
	}
	cause, ok := shared[root].(error)
	if !ok {
		cause = remote.Decode(b[8:])
	}
	re := &RankError{int(binary.LittleEndian.Uint64(b)), cause, c}
	if c.Rank() == root {
		return re
	}
	return with(err, re)
}

// MetBy returns the error of another rank of c, received from it for example by Gather. If the ranks of c agree on the error, it
// stays that rank's.
func MetBy(c Comm, rank int, err error) *RankError { return &RankError{rank, err, c} }

// sameComm reports whether a and b are the same Comm.
func sameComm(a, b Comm) bool {
	return a != nil && reflect.TypeOf(a).Comparable() && a == b
}

// with returns other, joined with own unless other includes it.
func with(own, other error) error {
	if own == nil {
		return other
	}
	if strings.Contains(own.Error(), other.Error()) {
		return own
	}
	return &agreedError{own, other}
}

// agreedError is a rank's own error and the agreed error.
type agreedError struct{ own, other error }

func (e *agreedError) Error() string   { return fmt.Sprintf("%v (and %v)", e.own, e.other) }
func (e *agreedError) Unwrap() []error { return []error{e.own, e.other} }
