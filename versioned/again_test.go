package versioned

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// A version that failed, and whose file could not be removed, can be tried again.
func TestIncAgain(t *testing.T) {
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("d"))
	failing := false
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if failing && (op.Kind == vfs.OpSync || op.Kind == vfs.OpRemove) {
			return errors.New("injected")
		}
		return nil
	})
	err := comm.Run(bg, 1, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, &Store{Dir: "d", FS: fsys}, Spec{Name: "a", Type: Float64, Shape: []int64{64}, Chunk: 512}, nil)
		must(t, err)
		must(t, Put(ctx, a, []int64{0}, []int64{64}, seq(1, 64, 1)))
		failing = true
		if _, err := a.Inc(ctx, 1, ""); err == nil {
			return errors.New("Inc without sync and remove")
		}
		failing = false
		if n, err := a.Inc(ctx, 1, ""); n != 1 || err != nil {
			return fmt.Errorf("again: %d, %w", n, err)
		}
		return a.Close(ctx)
	})
	must(t, err)
}
