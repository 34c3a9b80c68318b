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

// Agree is a collective that shares errors. Each rank passes its error or nil, and either all ranks return nil or all return an
// error. The agreed error is a *RankError with the error of the lowest failing rank. Another failing rank returns its own error
// joined with the agreed error; if both have the same text, the text appears once. An agreed error does not break the Comm. If the
// ranks of c have agreed on an error before, the error keeps its rank and text.
//
// On ranks that share a heap with the failing rank, errors.Is finds all errors that the failing rank's error wraps. Other ranks
// get the text of the error, and errors.Is finds only wrapped sentinels of this module, of package context, and some of package
// fs.
//
// If the Comm is broken, Agree returns the ErrBroken error, joined with the rank's own error.
func Agree(ctx context.Context, c Comm, err error) error {
	_, err = AgreeMin(ctx, c, err)
	return err
}

// AgreeMin combines Agree with an AllreduceInt64 of v by Min. (To get the maximum of x, pass ^x and invert the result again.)
// AgreeMin returns the minima even with an agreed error. If the Comm breaks in this call, the minima are nil, and other ranks may
// not receive err.
func AgreeMin(ctx context.Context, c Comm, err error, v ...int64) ([]int64, error) {
	all, e := c.AllreduceInt64(ctx, append([]int64{failing(c, err)}, v...), Min)
	if e != nil {
		return nil, with(err, e)
	}
	return all[1:], agreed(ctx, c, all[0], err)
}

// failing returns the rank if it has an error.
func failing(c Comm, err error) int64 {
	if err != nil {
		return int64(c.Rank())
	}
	return math.MaxInt64
}

// agreed returns the error of the lowest failing rank, if there is one.
func agreed(ctx context.Context, c Comm, first int64, err error) error {
	if first == math.MaxInt64 {
		return nil
	}
	return tellError(ctx, c, int(first), err)
}

// AlltoallvMin combines AgreeMin of up to 7 numbers v with an Alltoallv of b. A Comm of package mpi does both at the cost of the
// Alltoallv.
func AlltoallvMin(ctx context.Context, c Comm, err error, b [][]byte, v ...int64) (got [][]byte, all []int64, _ error) {
	v = append([]int64{failing(c, err)}, v...)
	var e error
	if both, ok := c.(interface {
		AlltoallvMin(context.Context, [][]byte, []int64) ([][]byte, []int64, error)
	}); ok {
		got, all, e = both.AlltoallvMin(ctx, b, v)
	} else if all, e = c.AllreduceInt64(ctx, v, Min); e == nil {
		got, e = c.Alltoallv(ctx, b)
	}
	if e != nil {
		return nil, nil, with(err, e)
	}
	return got, all[1:], agreed(ctx, c, all[0], err)
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

// MetBy returns a RankError for an error that another rank of c met and sent to this rank, for example by Gather. If the ranks of
// c later agree on the RankError, it keeps that rank's number.
func MetBy(c Comm, rank int, err error) *RankError { return &RankError{rank, err, c} }

// sameComm reports whether a and b are the same Comm.
func sameComm(a, b Comm) bool {
	return a != nil && reflect.TypeOf(a).Comparable() && a == b
}

// with joins own and other, or returns one of them if the other is nil or already part of its text.
func with(own, other error) error {
	if own == nil {
		return other
	}
	if strings.Contains(own.Error(), other.Error()) {
		return own
	}
	if re, ok := other.(*RankError); ok && own.Error() == re.Err.Error() {
		return &RankError{re.Rank, &agreedError{own, re.Err}, re.in}
	}
	return &agreedError{own, other}
}

// agreedError joins a rank's own error and the agreed error.
type agreedError struct{ own, other error }

func (e *agreedError) Error() string {
	own, other := e.own.Error(), e.other.Error()
	if own == other {
		return own
	}
	return fmt.Sprintf("%s (and %s)", own, other)
}

func (e *agreedError) Unwrap() []error { return []error{e.own, e.other} }
