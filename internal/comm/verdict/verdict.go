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
	// NotDone: the previous state is in force.
	NotDone Outcome = iota
	// Done: the commit is in force.
	Done
	// InDoubt: a reader may find either state, now or after a crash.
	InDoubt
)

// Commit is a collective that commits a change and returns the outcome on all ranks. Each rank passes its part, or nil. The
// outcome is in doubt if a part returns durable.ErrUnsure, if only some parts succeed, or if the communication breaks. The error
// comes from comm.Agree; for Done it is nil.
func Commit(ctx context.Context, c comm.Comm, part func() error) (Outcome, error) {
	outcome, _, err := CommitMin(ctx, c, part, nil)
	return outcome, err
}

// CommitMin is Commit and comm.AgreeMin of words() in one step. words is called after the part and may be nil. The minima are nil
// if the communication breaks.
func CommitMin(ctx context.Context, c comm.Comm, part func() error, words func() []int64) (Outcome, []int64, error) {
	var err error
	there := int64(0) // readers may find the commit, according to this rank
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

// FirstCause removes ranks that only forwarded an error, and keeps the rank of its origin.
func FirstCause(err error) error {
	var outer, inner *comm.RankError
	for errors.As(err, &outer) && errors.As(outer.Err, &inner) {
		err = inner
	}
	return err
}
