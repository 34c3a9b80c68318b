package fti

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// TestRefused: missing memory or another checkpoint id on one rank is an error on all ranks. The next checkpoint succeeds.
func TestRefused(t *testing.T) {
	m := disk(t, "")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
		if err := write(ctx, c, s, 1, 1, 4); err != nil {
			return err
		}
		own := memory(c.Rank(), 1)
		if c.Rank() == 1 {
			own[3] = nil
		}
		for id, b := range own {
			if err := s.Protect(int64(id), b, int64(len(memory(c.Rank(), 1)[id]))); err != nil {
				return err
			}
		}
		if (s.Recover(ctx) == nil) == (c.Rank() == 1) || s.Checkpoint(ctx, 2, 1) == nil {
			return errors.New("no memory is no error")
		}
		for _, x := range [][2]int{{c.Rank() / 3, 1}, {2, 1 + c.Rank()/3}, {2, 0}, {2, 9}, {-1, 1}} {
			if s.Checkpoint(ctx, int32(x[0]), x[1]) == nil {
				return fmt.Errorf("checkpoint %v", x)
			}
		}
		return write(ctx, c, s, 4, 2, 1)
	}))
	if got, err := stepOf(m); err != nil || got != 4 {
		t.Errorf("step %d, %v", got, err)
	}
}

// TestOneJob: another job cannot restart a run that is still active.
func TestOneJob(t *testing.T) {
	m := disk(t, "")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
		if err := write(ctx, c, s, 1, 1, 1); err != nil {
			return err
		}
		var err error
		if c.Rank() == 0 {
			_, err = stepOf(m)
			if !errors.Is(err, fault.ErrInUse) {
				return fmt.Errorf("the second job: %w", err)
			}
		}
		return c.Barrier(ctx)
	}))
}
