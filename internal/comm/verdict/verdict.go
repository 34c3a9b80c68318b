// Package verdict lets ranks commit together, so that all of them know the outcome.
package verdict

import (
	"context"
	"errors"

	"blobio/comm"
	"blobio/internal/base/durable"
)

// Outcome is the result of a commit.
type Outcome uint8

const (
	// NotDone: the state before is in force.
	NotDone Outcome = iota
	// Done: the commit is in force.
	Done
	// InDoubt: it is not known which of the two a reader finds, now or after a crash.
	InDoubt
)

// Commit is a collective that commits something and returns the outcome on all ranks. Each rank gives its part, nil if it has none. The commit is
// in doubt when a part returns durable.ErrUnsure, when parts of some ranks are done and
// others are not, and when the communication breaks. The error is comm.Agree's; with Done it is nil.
func Commit(ctx context.Context, c comm.Comm, part func() error) (Outcome, error) {
	outcome, _, err := CommitMin(ctx, c, part, nil)
	return outcome, err
}

// CommitMin is Commit and, in the same step, comm.AgreeMin of the numbers of words, which is called after the part; it may be nil. The minima are nil if
// the communication breaks.
func CommitMin(ctx context.Context, c comm.Comm, part func() error, words func() []int64) (Outcome, []int64, error) {
	var err error
	there := int64(0) // readers of this rank find the commit, or may find it
	if part != nil {
		if err = part(); err == nil || errors.Is(err, durable.ErrUnsure) {
			there = 1
		}
	}
	all := []int64{-there}
	if words != nil {
		all = append(all, words()...)
	}
	v, err := comm.AgreeMin(ctx, c, err, all...)
	switch {
	case v == nil:
		return InDoubt, nil, err
	case err == nil:
		return Done, v[1:], nil
	case v[0] != 0:
		return InDoubt, v[1:], err
	}
	return NotDone, v[1:], err
}

// FirstCause removes the ranks that only passed an error on, and leaves the rank that
// it is from.
func FirstCause(err error) error {
	var outer, inner *comm.RankError
	for errors.As(err, &outer) && errors.As(outer.Err, &inner) {
		err = inner
	}
	return err
}
