package commtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"blobio/comm"
)

// testCalls: if ranks call the same collective in operations with different names, all ranks get ErrMismatch with both
// names. A rank without a name matches any name.
func testCalls(t *testing.T, run Runner) {
	steps := []call{
		{"Barrier", func(ctx context.Context, c comm.Comm) error { return c.Barrier(ctx) }},
		{"AllreduceInt64", func(ctx context.Context, c comm.Comm) error {
			_, err := c.AllreduceInt64(ctx, []int64{1, 2}, comm.Min)
			return err
		}},
		{"Allgather", func(ctx context.Context, c comm.Comm) error {
			_, err := c.Allgather(ctx, part(c.Rank()))
			return err
		}},
	}
	for n := 2; n <= 4; n++ {
		for _, step := range steps {
			for _, other := range []string{"Writer.Commit", "", "Writer.Flush"} { // name of the last rank's operation
				err := run(t, n, 0, func(ctx context.Context, c comm.Comm) error {
					if c.Size() < 2 {
						return nil
					}
					call := "Writer.Flush"
					if c.Rank() == c.Size()-1 {
						call = other
					}
					if call != "" {
						ctx = comm.In(ctx, call)
					}
					err := step.do(ctx, c)
					if other != "Writer.Commit" {
						return err
					}
					if !errors.Is(err, comm.ErrMismatch) {
						return fmt.Errorf("rank %d got %w, want ErrMismatch", c.Rank(), err)
					}
					text := strings.ReplaceAll(err.Error(), " is in ", " in ")
					for _, want := range []string{"in Writer.Flush (" + step.name, fmt.Sprintf("rank %d in Writer.Commit (%s", c.Size()-1, step.name)} {
						if !strings.Contains(text, want) {
							return fmt.Errorf("rank %d got %w, want %q", c.Rank(), err, want)
						}
					}
					return nil
				})
				if other == "Writer.Commit" && errors.Is(err, comm.ErrMismatch) && !strings.Contains(err.Error(), "want") { // the run must fail in this case
					err = nil
				}
				if err != nil {
					t.Errorf("%s on %d ranks, with the last rank in %q: %v", step.name, n, other, err)
				}
			}
		}
	}
}
