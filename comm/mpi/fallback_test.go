//go:build mpi && cgo && linux

package mpi

import (
	"context"
	"fmt"
	"testing"

	"blobio/comm"
)

// TestJobFallback: if one rank cannot get shared memory, no rank gets it, and no rank hangs. If MPI cannot find the ranks that
// share memory, host names determine the nodes.
func TestJobFallback(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	last := job.World().Size() - 1
	for _, step := range []string{"node", "shared", "window"} {
		for _, first := range []bool{true, false} { // fail at the first call, or at the call that needs more memory
			err := inJob(Options{})(t, 99, 0, func(ctx context.Context, c comm.Comm) error {
				e := c.(*rank).e
				fails := fmt.Sprintf("x:0,%s:%d", step, last)
				if first {
					e.fails = fails
				}
				node, err := c.SplitNode(ctx)
				if err != nil || node.Size() != c.Size() || node.Rank() != c.Rank() {
					return fmt.Errorf("SplitNode: %v, %w", node, err)
				}
				if !first {
					m, err := comm.SharedMemory(ctx, node, 100)
					if err != nil || m == nil {
						return fmt.Errorf("before: memory %v, error %v", m != nil, err)
					}
					e.fails = fails
				}
				for _, n := range []int{1000, 0, 100, 2000} {
					m, err := comm.SharedMemory(ctx, node, n)
					if err != nil || (m == nil) != (first || n > 100) {
						return fmt.Errorf("%d bytes: memory %v, error %v", n, m != nil, err)
					}
				}
				return exchange(ctx, node, 1)
			})
			if err != nil {
				t.Errorf("%s fails, at once: %v: %v", step, first, err)
			}
		}
	}
}
