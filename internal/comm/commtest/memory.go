package commtest

import (
	"context"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// testMemory: after a Fence, all ranks of a node see the stores in shared memory. Later requests for more or less memory do not
// invalidate the earlier memory. If the ranks are on several nodes, either all ranks get memory or none.
func testMemory(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		node, err := c.SplitNode(ctx)
		if err != nil {
			return err
		}
		none, err := comm.SharedMemory(ctx, node, 0) // memory of 0 bytes must not be nil
		if err != nil || none == nil || len(none.Bytes()) != 0 {
			return fmt.Errorf("memory of 0 bytes: %v, %w", none, err)
		}
		if err := none.Fence(ctx); err != nil {
			return err
		}
		first, err := comm.SharedMemory(ctx, node, 300*node.Size())
		if err != nil {
			return err
		}
		for k, slot := range []int{100, 5000, 100, 70000} {
			m, err := comm.SharedMemory(ctx, node, slot*node.Size())
			if err != nil {
				return err
			}
			if m == nil {
				return fmt.Errorf("ranks of a node do not share memory")
			}
			if len(m.Bytes()) != slot*node.Size() {
				return fmt.Errorf("%d bytes, want %d", len(m.Bytes()), slot*node.Size())
			}
			for round := range 3 {
				value := func(r, i int) byte { return byte(r + 3*i + 7*round + 11*k) }
				mine := m.Bytes()[slot*node.Rank():]
				for i := range slot {
					mine[i] = value(node.Rank(), i)
				}
				if err := m.Fence(ctx); err != nil {
					return err
				}
				for r := range node.Size() {
					for i, b := range m.Bytes()[slot*r : slot*(r+1)] {
						if b != value(r, i) {
							return fmt.Errorf("round %d: byte %d of rank %d is %d, want %d", round, i, r, b, value(r, i))
						}
					}
				}
				if err := m.Fence(ctx); err != nil {
					return err
				}
			}
		}
		// The first memory is still valid after requests for larger memory.
		for i := range 300 {
			first.Bytes()[300*node.Rank()+i] = byte(node.Rank() + i)
		}
		if err := first.Fence(ctx); err != nil {
			return err
		}
		for i, b := range first.Bytes() {
			if want := byte(i/300 + i%300); b != want {
				return fmt.Errorf("the first memory: byte %d is %d, want %d", i, b, want)
			}
		}
		m, err := comm.SharedMemory(ctx, c, 64)
		if err != nil {
			return err
		}
		have := int64(0)
		if m != nil {
			have = 1
		}
		v, err := c.AllreduceInt64(ctx, []int64{have, -have}, comm.Min)
		if err == nil && v[0] != -v[1] {
			err = fmt.Errorf("some ranks share memory and some do not")
		}
		return err
	})
}

// testAgreeMin: AgreeMin returns the minima with and without an error.
func testAgreeMin(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		me, n := int64(c.Rank()), int64(c.Size())
		v, err := comm.AgreeMin(ctx, c, nil, me, ^me)
		if err != nil || len(v) != 2 || v[0] != 0 || ^v[1] != n-1 {
			return fmt.Errorf("minima %v, %w", v, err)
		}
		var bad error
		if me == n-1 {
			bad = fault.Usage("by this rank")
		}
		v, err = comm.AgreeMin(ctx, c, bad, 5-me)
		if err == nil || len(v) != 1 || v[0] != 6-n {
			return fmt.Errorf("AgreeMin on %d ranks, one with an error: got minima %v and error %v, want [%d] and an error", n, v, err, 6-n)
		}
		return nil
	})
}
