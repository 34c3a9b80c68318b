package comm_test

import (
	"context"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/comm/commtest"
)

func inProcess(t *testing.T, n, perNode int, f func(ctx context.Context, c comm.Comm) error) error {
	return comm.Run(t.Context(), n, &comm.Options{RanksPerNode: perNode, DeadlockAfter: 100 * time.Millisecond}, f)
}

func isolated(t *testing.T, n, perNode int, f func(ctx context.Context, c comm.Comm) error) error {
	return inProcess(t, n, perNode, func(ctx context.Context, c comm.Comm) error { return f(ctx, commtest.Isolate(c)) })
}

// self runs f on a Comm from Self. It skips tests with more ranks, which inProcess runs.
func self(t *testing.T, n, perNode int, f func(ctx context.Context, c comm.Comm) error) error {
	if n == 1 {
		return f(t.Context(), comm.Self())
	}
	return nil
}

func TestContract(t *testing.T) {
	t.Run("InProcess", func(t *testing.T) { commtest.Suite(t, inProcess) })
	t.Run("Isolated", func(t *testing.T) { commtest.Suite(t, isolated) })
	t.Run("Self", func(t *testing.T) { commtest.Suite(t, self) })
}

func TestFailures(t *testing.T) {
	t.Run("InProcess", func(t *testing.T) { commtest.Failures(t, inProcess) })
	t.Run("Isolated", func(t *testing.T) { commtest.Failures(t, isolated) })
}
