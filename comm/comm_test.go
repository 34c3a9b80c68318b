package comm_test

import (
	"context"
	"errors"
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

// TestAgreeSameText: if ranks have errors with the same text, each rank returns the text once. The result of Run has it once, too.
func TestAgreeSameText(t *testing.T) {
	sentinel := []error{errors.New("first"), errors.New("second"), errors.New("third")}
	own := func(rank int) error { return maskedError{sentinel[rank]} }
	err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		err := comm.Agree(ctx, c, comm.Agree(ctx, c, own(c.Rank())))
		if err.Error() != "rank 0: masked" || !errors.Is(err, sentinel[0]) || !errors.Is(err, sentinel[c.Rank()]) {
			t.Errorf("rank %d: %v", c.Rank(), err)
		}
		return err
	})
	if err == nil || err.Error() != "rank 0: masked" {
		t.Errorf("Run returns %v", err)
	}
}

// maskedError wraps an error but does not show its text.
type maskedError struct{ err error }

func (maskedError) Error() string   { return "masked" }
func (e maskedError) Unwrap() error { return e.err }
