package verdict

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/comm/commtest"
)

// TestCommit tests outcomes for the results of the parts of ranks 0 and 1 of three. Rank 2 has no part.
func TestCommit(t *testing.T) {
	failed := errors.New("no room")
	unsure := fmt.Errorf("sync: %w", &durable.UnsureError{Name: "x", Err: failed})
	for _, c := range []struct {
		parts [2]error
		want  Outcome
	}{
		{[2]error{nil, nil}, Done},
		{[2]error{failed, failed}, NotDone},
		{[2]error{failed, nil}, InDoubt},
		{[2]error{nil, failed}, InDoubt},
		{[2]error{unsure, failed}, InDoubt},
		{[2]error{nil, unsure}, InDoubt},
	} {
		err := comm.Run(context.Background(), 3, nil, func(ctx context.Context, co comm.Comm) error {
			for _, co := range []comm.Comm{co, commtest.Isolate(co)} {
				var part func() error
				if r := co.Rank(); r < 2 {
					part = func() error { return c.parts[r] }
				}
				got, err := Commit(ctx, co, part)
				if got != c.want || (err == nil) != (got == Done) {
					t.Errorf("%v: rank %d: %d, %v; want %d", c.parts, co.Rank(), got, err, c.want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCommitAlone: a commit without parts succeeds. If a rank is gone, the outcome on the other ranks
// is InDoubt.
func TestCommitAlone(t *testing.T) {
	err := comm.Run(context.Background(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		if got, err := Commit(ctx, c, nil); got != Done || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		if c.Rank() == 1 {
			return errors.New("gone")
		}
		if got, err := Commit(ctx, c, func() error { return nil }); got != InDoubt || err == nil {
			t.Errorf("%d, %v", got, err)
		}
		return nil
	})
	if err == nil {
		t.Error("the rank that is gone is not in the error")
	}
}
