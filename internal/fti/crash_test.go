package fti

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestCrash cuts the power before every modifying operation. The restart finds the last reported checkpoint or the one being
// written. This also holds after the loss of a node if no checkpoint has level 1. The run then takes further checkpoints, whose ids
// may repeat.
func TestCrash(t *testing.T) {
	for name, c := range crashtest.SomeOf(t, 2, map[string]struct {
		order []int // levels
		same  bool  // give all checkpoints the same id
		lost  string
	}{
		"local":        {order: []int{1, 1, 1}},
		"global":       {order: []int{4, 4, 4}},
		"same":         {order: []int{4, 4, 1, 1, 4}, same: true},
		"differential": {order: []int{8, 8, 8, 8, 5, 5, 5}},
		"partner":      {order: []int{6, 6, 6, 4, 2}, lost: "Local/node1"},
		"parity":       {order: []int{3, 3, 2, 3, 4, 3}, lost: "Local/node3", same: true},
		"all":          {order: []int{4, 1, 2, 1, 3, 8, 1, 4}},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := func(step int) int32 {
				if c.same {
					return 3
				}
				return int32(step)
			}
			var now atomic.Int64
			sc := crashtest.Scenario{
				Start: []*vfs.Mem{disk(t, "")}, Every: crashtest.Times(15, 1), Seed: int64(len(name)), Torn: crashtest.Times(1, 2), Mark: now.Load,
				Always: func(op vfs.Op) bool { return op.Kind == vfs.OpRename },
				Run: crashtest.One(func(fsys vfs.FS) error {
					return job(fsys, func(ctx context.Context, k comm.Comm, s *Session) error {
						for step := 1; step <= len(c.order); step++ {
							if err := k.Barrier(ctx); err != nil {
								return err
							}
							now.Store(int64(step))
							if err := write(ctx, k, s, step, id(step), c.order[step-1]); err != nil {
								return err
							}
						}
						return nil
					})
				}),
			}
			cuts := sc.Cuts(t)
			for _, cut := range cuts {
				m, step := cut.Mem[0], int(cut.Mark)
				if c.lost != "" {
					must(t, vfs.RemoveAll(m, c.lost))
				}
				got, err := stepOf(m)
				if err != nil || got != step && got != max(step-1, 0) {
					t.Fatalf("step %d, %s: restart after step %d, %v", step, cut.When, got, err)
				}
				if err := job(m, func(ctx context.Context, k comm.Comm, s *Session) error {
					return errors.Join(write(ctx, k, s, 20, id(got+1), 1), write(ctx, k, s, 21, id(got+2), 4))
				}); err != nil {
					t.Fatalf("step %d, %s: going on: %v", step, cut.When, err)
				}
				if got, err := stepOf(m); err != nil || got != 21 {
					t.Fatalf("step %d, %s: gone on to %d, %v", step, cut.When, got, err)
				}
			}
			if len(cuts) < 40 {
				t.Errorf("%d states", len(cuts))
			}
		})
	}
}

// TestFaults: a failed operation is an error on all ranks or does no harm, and earlier checkpoints stay.
func TestFaults(t *testing.T) {
	failed := fmt.Errorf("the disk says no")
	for _, level := range crashtest.Some(t, 2, []int{1, 2, 3, 4, 8}) {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			t.Parallel()
			var done atomic.Int64
			sc := crashtest.Scenario{
				Start: []*vfs.Mem{disk(t, "")}, Every: crashtest.Times(12, 1), Seed: int64(level),
				Run: crashtest.One(func(fsys vfs.FS) error {
					done.Store(0)
					return job(fsys, func(ctx context.Context, k comm.Comm, s *Session) error {
						for step := 1; step <= 3; step++ {
							if err := write(ctx, k, s, step, int32(step), level); err != nil {
								return err
							}
							done.Store(int64(step))
						}
						return nil
					})
				}),
			}
			for f := range sc.Faults(t, crashtest.Fails(failed), crashtest.Dies(failed)) {
				step := int(done.Load())
				got, err := stepOf(f.Mem[0])
				if err != nil || got != step && got != step+1 {
					t.Fatalf("%s: step %d was done, restart after step %d, %v", f.When, step, got, err)
				}
				if f.Err == nil && step != 3 {
					t.Fatalf("%s: no error, step %d", f.When, step)
				}
			}
		})
	}
}

// TestGoingOn: a program goes on after a failed checkpoint. Its leftovers do not harm later checkpoints.
func TestGoingOn(t *testing.T) {
	failed := fmt.Errorf("the disk says no")
	for _, order := range crashtest.Some(t, 2, [][]int{{3, 1, 2, 1}, {1, 4, 1}, {1, 3, 8, 1}}) {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			var done atomic.Int64
			sc := crashtest.Scenario{
				Start: []*vfs.Mem{disk(t, "")}, Every: crashtest.Times(8, 1), Seed: int64(len(order)),
				Run: crashtest.One(func(fsys vfs.FS) error {
					done.Store(0)
					return job(fsys, func(ctx context.Context, c comm.Comm, s *Session) error {
						for step, level := range order {
							if write(ctx, c, s, step+1, int32(step+1), level) == nil && c.Rank() == 0 {
								done.Store(int64(step + 1))
							}
						}
						return nil
					})
				}),
			}
			for f := range sc.Faults(t, crashtest.Fails(failed)) {
				step := int(done.Load())
				cut := f.Mem[0].CrashClone(vfs.CrashOptions{})
				for _, m := range []*vfs.Mem{f.Mem[0], cut} {
					if got, err := stepOf(m); err != nil || got < step {
						t.Fatalf("%s: step %d was done, restart after step %d, %v; power cut: %v", f.When, step, got, err, m == cut)
					}
				}
			}
		})
	}
}
