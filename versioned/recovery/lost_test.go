package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/versioned/recovery"
)

// TestAllRanksLost: after the loss of all ranks no recovery is possible.
func TestAllRanksLost(t *testing.T) {
	err := comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		r, err := recovery.Open(ctx, c, nil, decaySpec, &decay{lost: true}, nil)
		if err != nil {
			return err
		}
		if err := r.Go(ctx, 5); !errors.Is(err, recovery.ErrNoRecovery) {
			return fmt.Errorf("gone on: %w", err)
		}
		return r.Close(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}
