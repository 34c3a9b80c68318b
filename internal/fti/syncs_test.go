package fti

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestSyncs: a checkpoint of level 2 or 3 that replaces one of its level syncs a directory twice per rank: for the fresh names, and
// for the committed ones.
func TestSyncs(t *testing.T) {
	for level := 2; level <= 3; level++ {
		var n atomic.Int64
		fsys := vfs.NewFault(disk(t, ""), func(op vfs.Op) error {
			if op.Kind == vfs.OpSyncDir && strings.HasPrefix(op.Name, "Local") {
				n.Add(1)
			}
			return nil
		})
		must(t, job(fsys, func(ctx context.Context, c comm.Comm, s *Session) error {
			err := errors.Join(write(ctx, c, s, 1, 1, level), c.Barrier(ctx))
			before := n.Load()
			err = errors.Join(err, c.Barrier(ctx), write(ctx, c, s, 2, 2, level), c.Barrier(ctx))
			if got := n.Load() - before; err == nil && got != 2*ranks {
				t.Errorf("level %d: %d syncs of directories, want %d", level, got, 2*ranks)
			}
			return err
		}))
	}
}

// counted counts the reductions of a Comm.
type counted struct {
	comm.Comm
	n int
}

func (c *counted) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	c.n++
	return c.Comm.AllreduceInt64(ctx, v, op)
}

// TestReductions: the number of reductions of a checkpoint, each of which costs a small checkpoint much of its time.
func TestReductions(t *testing.T) {
	m := disk(t, "")
	must(t, comm.Run(context.Background(), ranks, nil, func(ctx context.Context, real comm.Comm) error {
		c := &counted{Comm: real}
		s, err := Open(ctx, c, "config", &Options{FS: m})
		if err != nil {
			return err
		}
		for level, want := range []int{1: 4, levels: 6} {
			if want == 0 {
				continue
			}
			err = errors.Join(err, write(ctx, c, s, 1, 1, level)) // the first one also notes that the run can restart
			before := c.n
			err = errors.Join(err, write(ctx, c, s, 2, 2, level))
			if got := c.n - before; err == nil && got != want {
				t.Errorf("level %d: %d reductions, want %d", level, got, want)
			}
		}
		return errors.Join(err, s.release())
	}))
}

// TestConfigUnchanged: a restart does not write a configuration file that has its state already.
func TestConfigUnchanged(t *testing.T) {
	m := disk(t, "")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return write(ctx, c, s, 1, 1, 1) }))
	if got, err := stepOf(vfs.NewFault(m, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && op.New == "config" {
			t.Errorf("%v", op)
		}
		return nil
	})); err != nil || got != 1 {
		t.Errorf("step %d, %v", got, err)
	}
}
