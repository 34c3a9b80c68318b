// Package verdict lets ranks commit something together, so that all of them know what has become of it.
package verdict

import (
	"context"
	"errors"

	"blobio/comm"
	"blobio/internal/base/durable"
)

// Outcome says what has become of a commit.
type Outcome uint8

const (
	// NotDone: what was in force before still is.
	NotDone Outcome = iota
	// Done: what was committed is in force.
	Done
	// InDoubt: it is not known which of the two a reader finds, now or after a crash.
	InDoubt
)

// Commit is a collective that commits something and tells all ranks what has become of it. Each rank gives its part, nil if it has none. The commit is
// in doubt when a part is: it says so by an error that is durable.ErrUnsure; when parts of some ranks are done and
// others are not; and when the ranks could not hear of each other. The error is that of comm.Agree; with Done it is nil.
func Commit(ctx context.Context, c comm.Comm, part func() error) (Outcome, error) {
	outcome, _, err := CommitMin(ctx, c, part, nil)
	return outcome, err
}

// CommitMin is Commit and, in the same step, comm.AgreeMin of what words returns, which is asked after the part; nil: nothing. The minima are nil if
// the ranks could not hear of each other.
func CommitMin(ctx context.Context, c comm.Comm, part func() error, words func() []int64) (Outcome, []int64, error) {
	var err error
	there := int64(0) // what is committed is, or may be, what this rank's readers find
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

// FirstCause takes the names of the ranks that only heard of an error from it:
// what remains is the rank that met it.
func FirstCause(err error) error {
	var outer, inner *comm.RankError
	for errors.As(err, &outer) && errors.As(outer.Err, &inner) {
		err = inner
	}
	return err
}
