package redset

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// TestEncodeNext: an error of an earlier step on one rank ends the step on all ranks, and leaves no files.
func TestEncodeNext(t *testing.T) {
	for _, o := range []Options{{Scheme: Single}, {Scheme: XOR}} {
		cl := newCluster(t, o, even[:4])
		before := fromMem(t, cl.fs, ".")
		for bad := range 4 {
			err := cl.run("isolated", func(ctx context.Context, c comm.Comm) error {
				s, err := New(ctx, c, o)
				if err != nil {
					return err
				}
				r := c.Rank()
				var mine error
				if r == bad {
					mine = fmt.Errorf("earlier step: %w", fault.ErrMissing)
				}
				own, err := s.EncodeNext(ctx, cl.fs, cl.files[r], fmt.Sprintf("n%d/rs.", r), mine)
				if own != nil || !errors.Is(err, fault.ErrMissing) {
					return fmt.Errorf("rank %d: %v, %v", r, own, err)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%v, rank %d fails: %v", o.Scheme, bad, err)
			}
		}
		same(t, fromMem(t, cl.fs, "."), before)
	}
}
