package scr

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// TestStored checks that containers change where files are stored, but not the data that are read. The number of ranks may
// change.
func TestStored(t *testing.T) {
	for _, c := range []struct {
		name  string
		kv    []string
		apart bool
	}{
		{"containers", []string{"SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", "2500"}, false},
		{"bypass", []string{"SCR_CACHE_BYPASS", "1"}, false},
		{"fetch in place", []string{"SCR_FETCH_BYPASS", "1"}, false},
		{"containers, fetch in place", []string{"SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", "1k", "SCR_FETCH_BYPASS", "1"}, false},
		{"global", []string{"SCR_GLOBAL_RESTART", "1"}, false},
		{"narrow", []string{"SCR_FLUSH_WIDTH", "1", "SCR_FETCH_WIDTH", "2"}, false},
		{"async", []string{"SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0"}, false},
		{"async, ranks apart", []string{"SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0"}, true},
		{"narrow, ranks apart", []string{"SCR_FLUSH_WIDTH", "2", "SCR_FETCH_WIDTH", "1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := fourNodes(t).set("SCR_FLUSH", "1").set(c.kv...)
			cl.apart = c.apart
			cl.log = &bytes.Buffer{}
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(cl.log)
				}
			})
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				for n := 1; n <= 3; n++ {
					must(t, cl.write(ctx, s, rank, n))
				}
				return s.Close(ctx)
			})
			cl.mustRestart(3)
			cl.lose("node0", "node1", "node2", "node3")
			cl.mustRestart(3)
			cl.on("a", "b", "c").mustRestart(3)
			// If a byte of the newest checkpoint is flipped, it must never be returned.
			for name, size := range tree(t, cl.fs, testPrefix) {
				if size > 0 && (strings.HasPrefix(name, "ckpt.3/") || strings.HasPrefix(name, ".scr/scr.dataset.3/ctr")) {
					flip(t, cl.fs, path.Join(testPrefix, name), size/2)
					break
				}
			}
			cl.lose("a", "b", "c", "node0", "node1", "node2", "node3")
			cl.mustRestart(2)
			cl.on("a", "b", "c").mustRestart(2)
		})
	}
}

// TestWindow checks that at most SCR_FLUSH_WIDTH ranks write at the same time, and that ranks not yet admitted do not write
// after a failure.
func TestWindow(t *testing.T) {
	for _, width := range []int{1, 2, 3, 6} {
		for _, bad := range []int{-1, 0, 3} {
			nodes := []string{"a", "b", "c", "d", "e", "f"}
			var now, most, calls atomic.Int64
			each(t, newCluster(t, nodes...), func(ctx context.Context, s *Session, rank int) error {
				err := s.window(ctx, width, func() error {
					calls.Add(1)
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					defer now.Add(-1)
					if rank == bad {
						return fs.ErrPermission
					}
					return nil
				})
				if (err != nil) != (bad >= 0) || bad >= 0 && !errors.Is(err, fs.ErrPermission) {
					t.Errorf("width %d, rank %d: %v", width, rank, err)
				}
				return nil
			})
			if most.Load() > int64(max(width, 1)) {
				t.Errorf("width %d: %d at once", width, most.Load())
			}
			if width == 1 && bad == 3 && calls.Load() != 4 {
				t.Errorf("%d ranks wrote, the fourth failed", calls.Load())
			}
		}
	}
}

// TestAsync delays the copying and checks that Complete returns in the meantime, and that the dataset is incomplete until the
// flush ends. The flush must end without any call. After a crash in the middle, nothing may be listed as complete.
func TestAsync(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0")
	gate := make(chan struct{})
	cl.hook = func(rank int, step string) error {
		if step == "copy" {
			<-gate
		}
		return nil
	}
	dir := prefixdir.Open(cl.fs, testPrefix)
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, cl.write(ctx, s, rank, 1))
		must(t, s.c.Barrier(ctx))
		if rank == 0 {
			x, err := dir.Index.Read()
			must(t, err)
			if e, ok := x.Entry("ckpt.1"); !ok || e.Complete {
				t.Errorf("before the copy: %+v %v", e, ok)
			}
			f, err := dir.Flush.Read()
			must(t, err)
			if !f.Is(1, prefixdir.Flushing|prefixdir.Cache) || f.Is(1, prefixdir.PFS) {
				t.Errorf("flush file: %+v", f.Entries())
			}
			close(gate)
			for { // wait without any call of the session
				if x, err := dir.Index.Read(); err == nil {
					if e, ok := x.Entry("ckpt.1"); ok && e.Complete {
						break
					}
				}
				time.Sleep(time.Millisecond)
			}
		}
		return s.Close(ctx)
	})
	cl.lose("node0", "node1", "node2", "node3")
	cl.mustRestart(1)
}

// TestAsyncCrash kills a run during a background flush. The next run must flush the dataset when it ends.
func TestAsyncCrash(t *testing.T) {
	for _, step := range crashtest.Some(t, 2, []string{"copy", "map", "summary", "index"}) {
		cl := fourNodes(t).set("SCR_FLUSH", "2", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0")
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			for n := 1; n <= 2; n++ {
				must(t, cl.write(ctx, s, rank, n))
			}
			return s.Close(ctx)
		}))
		k := &killer{step: step, n: 1}
		cl.hook = k.hook
		if err := cl.run(func(ctx context.Context, s *Session, rank int) error {
			for n := 3; n <= 4; n++ {
				if err := cl.write(ctx, s, rank, n); err != nil {
					return err
				}
			}
			return s.Close(ctx)
		}); !errors.Is(err, errKilled) {
			t.Fatalf("%s: %v", step, err)
		}
		cl.hook = nil
		for _, lost := range [][]string{nil, {"node1"}, {"node0", "node1", "node2", "node3"}} {
			c := *cl
			c.fs = cl.fs.(*vfs.Mem).CrashClone(vfs.CrashOptions{})
			c.lose(lost...)
			want := 4
			if len(lost) == 4 {
				want = 2
			}
			c.mustRestart(want)
			must(t, c.run(func(ctx context.Context, s *Session, rank int) error { return s.Close(ctx) }))
			c.lose("node0", "node1", "node2", "node3")
			c.mustRestart(want)
		}
	}
}

// TestFlushOutside checks that cached datasets of a run with another prefix directory are not flushed, even if the path of
// that directory begins with the path of this run's prefix directory.
func TestFlushOutside(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "0", "SCR_PREFIX", testPrefix+"2")
	mkdirs(t, cl.fs, testPrefix+"2")
	must(t, cl.checkpoints(1, 1))
	cl.set("SCR_PREFIX", testPrefix)
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := s.Flush(ctx, "ckpt.1"); !errors.Is(err, ErrOutside) {
			t.Errorf("rank %d: %v", rank, err)
		}
		return nil
	})
	for name := range tree(t, cl.fs, testPrefix+"2") {
		if strings.HasPrefix(name, "ckpt.") {
			t.Errorf("%s was written", name)
		}
	}
}
