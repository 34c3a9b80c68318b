package scr

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// TestFlushKeepsCrash flushes a dataset that has the name of a dataset in the prefix directory or shares files with it. It cuts
// the power before each operation, and the caches are lost too. The next run must find one of the two datasets with its own
// bytes.
func TestFlushKeepsCrash(t *testing.T) {
	for _, c := range crashtest.Some(t, 2, []struct{ what, async, name string }{
		{"files", "0", "ckpt.%d"}, {"files, in the background", "1", "ckpt.%d"}, {"files and name", "0", "ckpt"}, {"files and name, in the background", "1", "ckpt"},
	}) {
		t.Run(c.what, func(t *testing.T) {
			base := newCluster(t, "node0", "node1").set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", c.async, "SCR_FLUSH_ASYNC_BW", "0", "SCR_COPY_TYPE", "SINGLE")
			// In each checkpoint each rank has one new file and one file that is always the same.
			take := func(cl *cluster, n int) error {
				return cl.run(func(ctx context.Context, s *Session, rank int) error {
					if err := s.Start(ctx, strings.Replace(c.name, "%d", fmt.Sprint(n), 1), Checkpoint); err != nil {
						return err
					}
					for i, f := range []string{fmt.Sprintf("state.%d", rank), fmt.Sprintf("own.%d.%d", n, rank)} {
						name, err := s.Route(f)
						if err == nil {
							err = overwrite(cl.fs, name, content(n, rank, i))
						}
						if err != nil {
							return errors.Join(err, s.Complete(ctx, false))
						}
					}
					return errors.Join(s.Complete(ctx, true), s.WaitFlush(ctx, ""))
				})
			}
			must(t, take(base, 1))
			start := base.fs.(*vfs.Mem)
			again := func(fsys vfs.FS, hook func(int, string) error) error {
				cl := *base
				cl.fs, cl.conf, cl.ready, cl.hook = fsys, start, true, hook
				cl.lose("node0", "node1") // a cached dataset does not replace another dataset with its name
				cl.ready = false
				return take(&cl, 2)
			}
			restart := func(fsys vfs.FS) (got int, err error) {
				cl := *base
				cl.fs, cl.ready = fsys, true
				cl.lose("node0", "node1")
				cl.ready = false
				err = cl.run(func(ctx context.Context, s *Session, rank int) error {
					r, ok, err := s.HaveRestart(ctx)
					if err != nil || !ok {
						return errors.Join(err, errors.New("nothing to start from"))
					}
					if rank == 0 {
						got = r.ID
					}
					if _, err := s.StartRestart(ctx); err != nil {
						return err
					}
					for i, f := range []string{fmt.Sprintf("state.%d", rank), fmt.Sprintf("own.%d.%d", r.Ckpt, rank)} {
						name, err := s.Route(f)
						if err != nil {
							return err
						}
						b, err := vfs.ReadFile(cl.fs, name, 1<<20)
						if err != nil || string(b) != string(content(r.Ckpt, rank, i)) {
							return fmt.Errorf("checkpoint %d, rank %d, file %d: wrong bytes, %v", r.Ckpt, rank, i, err)
						}
					}
					return s.CompleteRestart(ctx, true)
				})
				return got, err
			}
			whole := start.CrashClone(vfs.CrashOptions{})
			must(t, again(whole, nil))
			for name := range tree(t, whole, testPrefix) {
				if prefixdir.IsHidden(name) {
					t.Errorf("%s is left", name)
				}
			}
			if all, err := listedWhole(whole); err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			var started atomic.Bool
			sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Every: crashtest.Times(11, 1), Only: func(op vfs.Op) bool { return started.Load() && op.Kind.Changes() },
				Run: crashtest.One(func(fsys vfs.FS) error {
					started.Store(false)
					return again(fsys, func(_ int, step string) error {
						if step == "flush" || step == "async" {
							started.Store(true)
						}
						return nil
					})
				})}
			n := 0
			for f := range sc.Faults(t, crashtest.Dies(errKilled)) {
				n++
				for seed := range crashtest.Times[int64](2, 3) {
					o := vfs.CrashOptions{}
					if seed > 0 {
						o.Rand = rand.New(rand.NewSource(seed))
					}
					left := f.Mem[0].CrashClone(o)
					if _, err := listedWhole(left); err != nil {
						t.Fatalf("operation %d, seed %d: %v", f.N, seed, err)
					}
					if got, err := restart(left); err != nil {
						t.Fatalf("operation %d, seed %d: the next run begins at %d: %v", f.N, seed, got, err)
					}
				}
			}
			if n == 0 {
				t.Error("no operation was tried")
			}
		})
	}
}

// TestFlushRenameFails lets the renames of a flush fail. Neither dataset may be lost. The next flush, or the next checkpoint with
// bypass, must complete the renames before it writes the hidden files again.
func TestFlushRenameFails(t *testing.T) {
	for _, async := range []string{"0", "1"} {
		cl := newCluster(t, "node0", "node1").set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", async, "SCR_FLUSH_ASYNC_BW", "0", "SCR_CACHE_SIZE", "4")
		mem := cl.fs
		for _, n := range cl.nodes {
			mkdirs(t, mem, "/nodes/"+n+"/local")
		}
		cl.ready, cl.conf = true, mem
		var sick atomic.Bool
		cl.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			if sick.Load() && op.Kind == vfs.OpRename && strings.HasSuffix(op.New, "/state.1.1") {
				return syscall.EIO
			}
			return nil
		})
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			take := func(n int) error {
				err := cl.same(ctx, s, rank, n, Checkpoint)
				return errors.Join(err, s.WaitFlush(ctx, ""))
			}
			if err := take(1); err != nil {
				return err
			}
			if err := s.c.Barrier(ctx); err != nil {
				return err
			}
			sick.Store(true)
			for n := 2; n <= 3; n++ {
				if err := take(n); !errors.Is(err, syscall.EIO) {
					t.Errorf("async %s, rank %d, checkpoint %d: %v", async, rank, n, err)
				}
			}
			if err := s.c.Barrier(ctx); err != nil {
				return err
			}
			sick.Store(false)
			return take(4)
		})
		if all, err := listedWhole(mem); err != nil || len(all) != 1 || all[0] != "ckpt.4" {
			t.Errorf("async %s: %v %v", async, all, err)
		}
	}
}
