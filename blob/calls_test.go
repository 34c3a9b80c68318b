package blob

import (
	"context"
	"errors"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestDifferentCalls checks that ranks in different collective calls get an error. The error names both calls and their ranks.
func TestDifferentCalls(t *testing.T) {
	m := tinyModel(1, 2)
	calls := map[string]func(ctx context.Context, w *write.Writer) error{
		"Writer.SetAtt": func(ctx context.Context, w *write.Writer) error { return w.SetAtt(ctx, -1, "a", "b") },
		"Writer.Flush":  func(ctx context.Context, w *write.Writer) error { return w.Flush(ctx) },
		"Writer.Wait":   func(ctx context.Context, w *write.Writer) error { return w.Wait(ctx) },
		// These calls all begin with the same collective.
		"Writer.Commit":      func(ctx context.Context, w *write.Writer) error { return w.Commit(ctx) },
		"Writer.CommitAsync": func(ctx context.Context, w *write.Writer) error { return w.CommitAsync(ctx) },
		"Writer.FlushAsync":  func(ctx context.Context, w *write.Writer) error { return w.FlushAsync(ctx) },
		"Writer.Close":       func(ctx context.Context, w *write.Writer) error { return w.Close(ctx) },
	}
	for a, first := range calls {
		for b, second := range calls {
			if a == b {
				continue
			}
			o := &dataset.Settings{Knobs: dataset.Knobs{Fs: vfs.NewMem()}}
			errs, _ := eachRank(m.ranks, func(ctx context.Context, c comm.Comm) error {
				w, err := write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), o)
				if err != nil {
					return err
				}
				defer w.Abort()
				if err := m.putRecord(w, 0, c.Rank(), true); err != nil {
					return err
				}
				if c.Rank() == 2 {
					return second(ctx, w)
				}
				return first(ctx, w)
			})
			for rank, err := range errs {
				if !errors.Is(err, comm.ErrMismatch) || !strings.Contains(err.Error(), "in "+a+" (") || !strings.Contains(err.Error(), "rank 2 in "+b+" (") && !strings.Contains(err.Error(), "rank 2 is in "+b+" (") {
					t.Errorf("%s and %s: rank %d: %v", a, b, rank, err)
				}
			}
		}
	}
}

// TestDifferentCallsOfReads checks that the error names a collective read too.
func TestDifferentCallsOfReads(t *testing.T) {
	m, mem := tinyModel(1, 2), vfs.NewMem()
	m.writeTo(t, mem, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
	errs, _ := eachRank(m.ranks, func(ctx context.Context, c comm.Comm) error {
		r := need(read.Open(ctx, "d.nc", &read.OpenOptions{FS: mem}))
		defer r.Close()
		if err := c.Barrier(ctx); err != nil { // one rank's failure cancels the contexts of others, which must have opened the dataset before
			return err
		}
		if c.Rank() == 2 {
			return c.Barrier(comm.In(ctx, "another"))
		}
		return r.Collective(c).Plan(nil).Read(ctx)
	})
	for rank, err := range errs {
		if !errors.Is(err, comm.ErrMismatch) || !strings.Contains(err.Error(), "in ReadPlan.Read (") || !strings.Contains(err.Error(), "in another (") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
