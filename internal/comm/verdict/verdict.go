// Package verdict lets ranks commit a change together, so that all ranks know the outcome.
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
	// NotDone means that the previous state is in force.
	NotDone Outcome = iota
	// Done means that the new state is in force.
	Done
	// InDoubt means that a reader may find either state, now or after a crash.
	InDoubt
)

// Commit is a collective that commits a change and returns the outcome on all ranks. Each rank passes the function that does its
// part of the commit, or nil. The outcome is InDoubt if a part returns durable.ErrUnsure, if only some parts succeed, or if the
// communication breaks. The error comes from comm.Agree. It is nil if the outcome is Done.
func Commit(ctx context.Context, c comm.Comm, part func() error) (Outcome, error) {
	outcome, _, err := CommitMin(ctx, c, part, nil)
	return outcome, err
}

// CommitMin combines Commit with a comm.AgreeMin of words(). words is called after part; it may be nil. If the communication
// breaks, the minima are nil.
func CommitMin(ctx context.Context, c comm.Comm, part func() error, words func() []int64) (Outcome, []int64, error) {
	var err error
	there := int64(0) // 1 if, as far as this rank knows, readers may find the new state
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

// FirstCause removes from err the RankErrors of ranks that only forwarded the error. It keeps the rank where the error began.
func FirstCause(err error) error {
	var outer, inner *comm.RankError
	for errors.As(err, &outer) && errors.As(outer.Err, &inner) {
		err = inner
	}
	return err
}
