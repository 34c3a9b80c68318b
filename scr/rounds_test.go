package scr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// counting is a Comm of ranks that share no memory. It counts the collectives of all Comms that are made from it. Share needs no
// collective.
type counting struct {
	comm.Comm
	n *int
}

func (c counting) Apart() bool { return true }

func (c counting) Barrier(ctx context.Context) error { *c.n++; return c.Comm.Barrier(ctx) }

func (c counting) Bcast(ctx context.Context, root int, b []byte) ([]byte, error) {
	*c.n++
	return c.Comm.Bcast(ctx, root, b)
}

func (c counting) Gather(ctx context.Context, root int, b []byte) ([][]byte, error) {
	*c.n++
	return c.Comm.Gather(ctx, root, b)
}

func (c counting) Allgather(ctx context.Context, b []byte) ([][]byte, error) {
	*c.n++
	return c.Comm.Allgather(ctx, b)
}

func (c counting) Alltoallv(ctx context.Context, b [][]byte) ([][]byte, error) {
	*c.n++
	return c.Comm.Alltoallv(ctx, b)
}

func (c counting) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	*c.n++
	return c.Comm.AllreduceInt64(ctx, v, op)
}

func (c counting) ExscanInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	*c.n++
	return c.Comm.ExscanInt64(ctx, v, op)
}

func (c counting) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	*c.n++
	s, err := c.Comm.Split(ctx, color, key)
	if s == nil {
		return nil, err
	}
	return counting{s, c.n}, err
}

// TestRounds counts the collectives of ranks in separate processes. It counts Start and Complete of a first dataset,
// and of a dataset that is not flushed.
func TestRounds(t *testing.T) {
	for _, tc := range []struct {
		set  []string
		want string
	}{
		{[]string{"SCR_COPY_TYPE", "SINGLE"}, "4 14 4 14"},
		{[]string{"SCR_COPY_TYPE", "PARTNER"}, "4 12 4 12"},
		{[]string{"SCR_COPY_TYPE", "XOR"}, "4 12 4 12"},
		{[]string{"SCR_CACHE_BYPASS", "1"}, "4 12 4 13"},
	} {
		cl, got := fourNodes(t).set(append(tc.set, "SCR_FLUSH", "0")...), ""
		cl.wrap = func(c comm.Comm) comm.Comm { return counting{commtest.Isolate(c), new(int)} }
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			n := s.c.(counting).n
			var list []int
			told := func() { list, *n = append(list, *n), 0 }
			*n = 0
			if _, _, err := s.HaveRestart(ctx); err != nil || *n != 2 {
				t.Errorf("HaveRestart: %d collectives, want 2 (%v)", *n, err)
			}
			*n = 0
			for i := range 2 {
				must(t, s.Start(ctx, fmt.Sprint("ckpt.", i), Checkpoint))
				name, err := s.Route(fileName(i, rank, 0))
				if err == nil {
					err = put(cl.fs, name, content(i, rank, 0))
				}
				must(t, err)
				told()
				must(t, s.Complete(ctx, true))
				told()
			}
			if rank == 0 {
				got = strings.Trim(fmt.Sprint(list), "[]")
			}
			return nil
		}))
		if got != tc.want {
			t.Errorf("%v: %s, want %s", tc.set, got, tc.want)
		}
	}
}

// TestRoundsFail lets each operation of one rank in Complete fail. The ranks share no memory. Either all ranks get an error of
// the right class, or, if the operation was unimportant, none does. The next dataset must succeed.
func TestRoundsFail(t *testing.T) {
	for _, rank := range []int{0, 2} {
		for at, more := int64(1), true; more; at += crashtest.Times[int64](19, 1) {
			cl := fourNodes(t).set("SCR_FLUSH", "0")
			cl.apart = true
			var armed atomic.Bool
			var hits atomic.Int64
			var failed vfs.Op
			cl.opts = func(c *Config) {
				c.FS = vfs.NewFault(cl.fs, func(op vfs.Op) error {
					if armed.Load() && strings.HasPrefix(op.Name, fmt.Sprintf("/nodes/node%d/", rank)) && hits.Add(1) == at {
						failed = op
						return syscall.ENOSPC
					}
					return nil
				})
			}
			ends := make([]error, 4)
			must(t, cl.run(func(ctx context.Context, s *Session, r int) error {
				must(t, s.Start(ctx, "bad", Checkpoint))
				name, err := s.Route(fileName(1, r, 0))
				if err == nil {
					err = put(cl.fs, name, content(1, r, 0))
				}
				must(t, errors.Join(err, s.c.Barrier(ctx)))
				if r == rank {
					armed.Store(true)
				}
				ends[r] = s.Complete(ctx, true)
				if r == rank {
					armed.Store(false)
				}
				must(t, s.c.Barrier(ctx))
				return cl.write(ctx, s, r, 2)
			}))
			more = hits.Load() >= at
			for r, err := range ends {
				if (err == nil) != (ends[0] == nil) || err != nil && !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("operation %d of rank %d (%v %s): rank %d says %v, rank 0 %v", at, rank, failed.Kind, failed.Name, r, err, ends[0])
				}
			}
			switch failed.Kind {
			case vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpSyncDir, vfs.OpReadDir, vfs.OpStat:
				if more && ends[0] == nil {
					t.Errorf("operation %d of rank %d (%v %s): nobody minds", at, rank, failed.Kind, failed.Name)
				}
			}
			cl.opts = nil
			cl.mustRestart(2)
		}
	}
}
