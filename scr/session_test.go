package scr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"blobio/internal/vfs"
	"blobio/redset"
	"blobio/scr/cadence"
	"blobio/scr/prefixdir"
)

// each runs f on the ranks of four nodes.
func each(t *testing.T, cl *cluster, f func(ctx context.Context, s *Session, rank int) error) {
	t.Helper()
	must(t, cl.run(f))
}

// TestStates: each call in each state; a wrong one is a *StateError on all ranks and changes nothing.
func TestStates(t *testing.T) {
	cl := fourNodes(t)
	must(t, cl.checkpoints(1, 1))
	calls := map[string]func(ctx context.Context, s *Session) error{
		"NeedCheckpoint": func(ctx context.Context, s *Session) error { _, err := s.NeedCheckpoint(ctx); return err },
		"ShouldExit":     func(ctx context.Context, s *Session) error { _, _, err := s.ShouldExit(ctx); return err },
		"HaveRestart":    func(ctx context.Context, s *Session) error { _, _, err := s.HaveRestart(ctx); return err },
		"Current":        func(ctx context.Context, s *Session) error { return s.Current(ctx, "none") },
		"Drop":           func(ctx context.Context, s *Session) error { return s.Drop(ctx, "none") },
		"Delete":         func(ctx context.Context, s *Session) error { return s.Delete(ctx, "none") },
		"Flush":          func(ctx context.Context, s *Session) error { return s.Flush(ctx, "none") },
		"Start":          func(ctx context.Context, s *Session) error { return s.Start(ctx, "x", Checkpoint) },
		"StartRestart":   func(ctx context.Context, s *Session) error { _, err := s.StartRestart(ctx); return err },
		"Complete":       func(ctx context.Context, s *Session) error { return s.Complete(ctx, true) },
		"CompleteRestart": func(ctx context.Context, s *Session) error {
			return s.CompleteRestart(ctx, true)
		},
	}
	idle := func(name string) bool { return name != "Complete" && name != "CompleteRestart" }
	wrong := func(ctx context.Context, s *Session, ok func(string) bool) {
		was := s.state
		for name, call := range calls {
			if ok(name) {
				continue
			}
			err := call(ctx, s)
			var e *StateError
			if !errors.As(err, &e) || !errors.Is(err, ErrState) || e.Call != name {
				t.Errorf("%s in state %s: %v", name, was, err)
			}
			if s.state != was {
				t.Errorf("%s in state %s leads to %s", name, was, s.state)
			}
		}
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		wrong(ctx, s, idle)
		if err := s.Start(ctx, "ckpt.2", Checkpoint); err != nil {
			return err
		}
		wrong(ctx, s, func(n string) bool { return n == "Complete" })
		if err := s.Complete(ctx, true); err != nil {
			return err
		}
		if _, err := s.StartRestart(ctx); err != nil {
			return err
		}
		wrong(ctx, s, func(n string) bool { return n == "CompleteRestart" })
		if err := s.CompleteRestart(ctx, true); err != nil {
			return err
		}
		if err := s.Close(ctx); err != nil {
			return err
		}
		wrong(ctx, s, func(string) bool { return false })
		if got, err := s.Route("a"); err != nil || got != "a" {
			t.Errorf("Route after Close: %q, %v", got, err)
		}
		return s.Close(ctx) // again: nothing happens
	})
}

// TestDisabled: with SCR_ENABLE=0 every call says so.
func TestDisabled(t *testing.T) {
	each(t, fourNodes(t).set("SCR_ENABLE", "0"), func(ctx context.Context, s *Session, rank int) error {
		if err := s.Start(ctx, "x", Checkpoint); !errors.Is(err, ErrDisabled) {
			t.Error(err)
		}
		if _, err := s.Route("x"); !errors.Is(err, ErrDisabled) {
			t.Error(err)
		}
		return s.Close(ctx)
	})
}

// TestInvalid: one rank that gives up makes the dataset disappear on all, and the one before is still there.
func TestInvalid(t *testing.T) {
	cl := fourNodes(t)
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := cl.write(ctx, s, rank, 1); err != nil {
			return err
		}
		if err := s.Start(ctx, "ckpt.2", Checkpoint); err != nil {
			return err
		}
		name, err := s.Route(fileName(2, rank, 0))
		if err != nil {
			return err
		}
		if err := put(cl.fs, name, content(2, rank, 0)); err != nil {
			return err
		}
		if err := s.Complete(ctx, rank != 2); !errors.Is(err, ErrInvalid) {
			t.Errorf("rank %d: %v", rank, err)
		}
		return nil
	})
	for n := range tree(t, cl.fs, "/nodes") {
		if strings.Contains(n, "scr.dataset.2") {
			t.Errorf("%s is left", n)
		}
	}
	cl.mustRestart(1)
}

// TestMissingFile: a file that was routed and not written fails the dataset, with its name, on all ranks.
func TestMissingFile(t *testing.T) {
	cl := fourNodes(t)
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := s.Start(ctx, "ckpt.1", Checkpoint); err != nil {
			return err
		}
		name, err := s.Route(fileName(1, rank, 0))
		if err != nil {
			return err
		}
		if rank != 3 {
			if err := put(cl.fs, name, content(1, rank, 0)); err != nil {
				return err
			}
		}
		if err := s.Complete(ctx, true); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "rank_3.0.ckpt") {
			t.Errorf("rank %d: %v", rank, err)
		}
		return nil
	})
	cl.mustRestart(0)
}

// TestNoFiles: ranks without any file, and a dataset without any.
func TestNoFiles(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for i := range 2 {
			if err := s.Start(ctx, fmt.Sprint("empty.", i), Checkpoint); err != nil {
				return err
			}
			if i == 0 && rank == 1 {
				name, err := s.Route("one")
				if err != nil {
					return err
				}
				if err := put(cl.fs, name, []byte("x")); err != nil {
					return err
				}
			}
			if err := s.Complete(ctx, true); err != nil {
				return err
			}
		}
		return s.Close(ctx)
	})
	cl.lose("node0", "node1", "node2", "node3")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		r, err := s.StartRestart(ctx)
		if err != nil || r.Name != "empty.1" {
			t.Errorf("%q %v", r.Name, err)
		}
		return s.CompleteRestart(ctx, true)
	})
}

// TestNames: what may be routed, and what two files of the same base name are called in the cache.
func TestNames(t *testing.T) {
	cl := newCluster(t, "node0", "node0", "node1", "node1").set("SCR_FLUSH", "1")
	var mu sync.Mutex
	seen := map[string]bool{}
	data := func(rank, i int) []byte { return []byte(fmt.Sprintf("rank %d file %d", rank, i)) }
	file := func(rank, i int) string { return fmt.Sprintf("%s/d%d/part%d/state", testPrefix, rank, i) }
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := s.Start(ctx, "one", Checkpoint|Output); err != nil {
			return err
		}
		for _, bad := range []string{"", "/etc/passwd", "../x", testPrefix, testPrefix + "/../y", testPrefix + "/.scr/index.scr", strings.Repeat("n", 5000)} {
			if _, err := s.Route(bad); err == nil {
				t.Errorf("Route(%.40q) is accepted", bad)
			}
		}
		for i := range 3 {
			name, err := s.Route(file(rank, i))
			if err != nil {
				return err
			}
			if again, err := s.Route(file(rank, i)); err != nil || again != name {
				t.Errorf("%q, then %q, %v", name, again, err)
			}
			mu.Lock()
			if seen[name] {
				t.Errorf("%s is given out twice", name)
			}
			seen[name] = true
			mu.Unlock()
			if err := put(cl.fs, name, data(rank, i)); err != nil {
				return err
			}
		}
		long := strings.Repeat("n", 200) + "/" + strings.Repeat("m", 200)
		name, err := s.Route(long)
		if err != nil {
			return err
		}
		if err := put(cl.fs, name, nil); rank == 0 && err != nil {
			return err
		}
		return s.Complete(ctx, true)
	})
	for rank := range 4 {
		for i := range 3 {
			b, err := vfs.ReadFile(cl.fs, file(rank, i), 100)
			if err != nil || !bytes.Equal(b, data(rank, i)) {
				t.Errorf("flushed %s: %q, %v", file(rank, i), b, err)
			}
		}
	}
	for _, nodes := range [][]string{{"node0", "node0", "node1", "node1"}, {"node1", "node0", "node0", "node1"}, {"x", "y", "x", "y"}} {
		next := cl.on(nodes...)
		each(t, next, func(ctx context.Context, s *Session, rank int) error {
			if _, err := s.StartRestart(ctx); err != nil {
				return err
			}
			for i := range 3 {
				name, err := s.Route(file(rank, i))
				if err != nil {
					return err
				}
				if b, err := vfs.ReadFile(cl.fs, name, 100); err != nil || !bytes.Equal(b, data(rank, i)) {
					t.Errorf("rank %d file %d: %q, %v", rank, i, b, err)
				}
			}
			return s.CompleteRestart(ctx, true)
		})
	}
}

// TestCacheSize: no more datasets are in the cache than its size says, and numbers go on.
func TestCacheSize(t *testing.T) {
	for size := 1; size <= 3; size++ {
		cl := fourNodes(t).set("SCR_CACHE_SIZE", fmt.Sprint(size), "SCR_FLUSH", "0")
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			for n := 1; n <= 5; n++ {
				if err := cl.write(ctx, s, rank, n); err != nil {
					return err
				}
				if len(s.cached) != min(n, size) || s.ids.set != n {
					t.Errorf("size %d: %d datasets after %d", size, len(s.cached), n)
				}
			}
			return nil
		})
		for name := range tree(t, cl.fs, "/nodes") {
			for n := 1; n <= 5-size; n++ {
				if strings.Contains(name, fmt.Sprintf("scr.dataset.%d/", n)) {
					t.Errorf("size %d: %s is left", size, name)
				}
			}
		}
		cl.mustRestart(5)
	}
}

// TestLevels: checkpoints go to the descriptor whose interval divides their number.
func TestLevels(t *testing.T) {
	cl := fourNodes(t).set("SCR_COPY_TYPE", "FILE", "SCR_FLUSH", "0", "SCR_CACHE_SIZE", "6", "SCR_CONF_FILE", "/p/conf")
	must(t, put(cl.fs, "/p/conf", []byte("CKPT=0 INTERVAL=1 TYPE=SINGLE STORE=/local GROUP=NODE\nCKPT=1 INTERVAL=2 TYPE=XOR SET_SIZE=4 STORE=/local GROUP=NODE\nCKPT=2 INTERVAL=4 TYPE=RS SET_FAILURES=2 SET_SIZE=4 STORE=/local GROUP=NODE\n")))
	must(t, cl.checkpoints(1, 5))
	cl.mustRestart(5)
	cl.lose("node0")
	cl.mustRestart(4)
	cl.lose("node0", "node1")
	// Two are lost: that of RS is still there.
	cl.mustRestart(4)
	cl.lose("node0", "node1", "node2")
	cl.mustRestart(0)
}

// TestFallback: a checkpoint that the application cannot use is marked, and older ones are offered until one works or
// none is left.
func TestFallback(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1")
	must(t, cl.checkpoints(1, 4))
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for want := 4; want >= 1; want-- {
			r, err := s.StartRestart(ctx)
			if err != nil {
				return fmt.Errorf("at %d: %w", want, err)
			}
			if r.Ckpt != want {
				t.Errorf("offered %d, want %d", r.Ckpt, want)
			}
			if err := s.CompleteRestart(ctx, rank != want-1); !errors.Is(err, ErrInvalid) {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
		if _, err := s.StartRestart(ctx); !errors.Is(err, ErrNoRestart) {
			t.Errorf("%v", err)
		}
		return nil
	})
	x, err := prefixdir.Open(cl.fs, testPrefix).ReadIndex()
	must(t, err)
	for _, e := range x.Entries() {
		if e.Failed.IsZero() {
			t.Errorf("%s is not marked", e.Name)
		}
	}
}

// TestOtherRanks: a restart on fewer and on more ranks reads the files by name, whoever wrote them.
func TestOtherRanks(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1")
	must(t, cl.checkpoints(1, 2))
	for _, nodes := range [][]string{{"node0"}, {"node0", "node1", "node2"}, {"a", "b", "c", "d", "e", "f", "g"}} {
		next := cl.on(nodes...)
		next.mustRestart(2)
		each(t, next, func(ctx context.Context, s *Session, rank int) error {
			r, err := s.StartRestart(ctx)
			if err != nil {
				return err
			}
			if !r.InPlace || r.Ranks != 4 {
				t.Errorf("%+v", r)
			}
			all, err := s.Files()
			if err != nil || len(all) != 4 || len(all[3]) != 2 {
				t.Errorf("%v %v", all, err)
			}
			if q, ok, err := s.Owner(fileName(2, 3, 1)); q != 3 || !ok || err != nil {
				t.Errorf("owner %d %v %v", q, ok, err)
			}
			return s.CompleteRestart(ctx, true)
		})
	}
}

// TestOtherRanksCached: a checkpoint that is only in the caches is saved for a run of another number of ranks, with a
// node lost too.
func TestOtherRanksCached(t *testing.T) {
	for _, scheme := range []string{"SINGLE", "PARTNER", "XOR", "RS"} {
		for i, nodes := range [][]string{
			{"node0", "node1", "node2"}, {"node3", "node2", "node1", "node0", "node0"}, {"node0", "spare", "node2", "node3", "node1", "spare"},
			{"node0", "node2", "node3"}, {"node0", "node1", "node2"}, {"node3", "node2", "node1", "node0", "node0"},
		} {
			cl := fourNodes(t).set("SCR_COPY_TYPE", scheme, "SCR_FLUSH", "0")
			cl.opts = func(c *Config) { c.Packed = i >= 4 }
			cl.log = &bytes.Buffer{}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%s, %v: %s", scheme, nodes, cl.log)
				}
			})
			must(t, cl.checkpoints(1, 3))
			want := 3
			switch {
			case len(nodes) == 3 && scheme == "SINGLE":
				want = 0 // a node is not there any more
			case len(nodes) == 5 && scheme != "SINGLE":
				cl.lose("node2")
			}
			next := cl.on(nodes...)
			next.mustRestart(want)
			next.mustRestart(want) // and again
			next.lose("node0", "node1", "node2", "node3")
			next.mustRestart(want)
		}
	}
}

// TestStored: containers and compression change how the files lie, not what is read, with the same ranks and others.
func TestStored(t *testing.T) {
	for _, c := range []struct {
		name  string
		kv    []string
		zstd  bool
		apart bool
	}{
		{"containers", []string{"SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", "2500"}, false, false},
		{"zstd", nil, true, false},
		{"bypass", []string{"SCR_CACHE_BYPASS", "1"}, false, false},
		{"fetch in place", []string{"SCR_FETCH_BYPASS", "1"}, false, false},
		{"containers, fetch in place", []string{"SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", "1k", "SCR_FETCH_BYPASS", "1"}, false, false},
		{"global", []string{"SCR_GLOBAL_RESTART", "1"}, false, false},
		{"narrow", []string{"SCR_FLUSH_WIDTH", "1", "SCR_FETCH_WIDTH", "2"}, false, false},
		{"async", []string{"SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0"}, false, false},
		{"async, ranks apart", []string{"SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0"}, false, true},
		{"narrow, ranks apart", []string{"SCR_FLUSH_WIDTH", "2", "SCR_FETCH_WIDTH", "1"}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := fourNodes(t).set("SCR_FLUSH", "1").set(c.kv...)
			cl.apart = c.apart
			cl.opts = func(cfg *Config) { cfg.Zstd = c.zstd }
			cl.log = &bytes.Buffer{}
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(cl.log)
				}
			})
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				for n := 1; n <= 3; n++ {
					if err := cl.write(ctx, s, rank, n); err != nil {
						return err
					}
				}
				return s.Close(ctx)
			})
			cl.mustRestart(3)
			cl.lose("node0", "node1", "node2", "node3")
			cl.mustRestart(3)
			cl.on("a", "b", "c").mustRestart(3)
			// One flipped byte of the newest one is never handed out.
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

// TestWindow: no more ranks write at once than SCR_FLUSH_WIDTH says, and after a failure the rest are told to skip.
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

// TestCancelFlush: a background flush that is cancelled leaves the dataset in the caches, and can be made up for.
func TestCancelFlush(t *testing.T) {
	for _, apart := range []bool{false, true} {
		cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "1")
		cl.apart = apart
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			if err := cl.write(ctx, s, rank, 1); err != nil {
				return err
			}
			if ok, err := s.CancelFlush(ctx, "ckpt.9"); ok || err != nil {
				t.Errorf("%v %v", ok, err)
			}
			// At one byte per second it would take long.
			if ok, err := s.CancelFlush(ctx, "ckpt.1"); !ok || err != nil {
				t.Errorf("%v %v", ok, err)
			}
			if in, err := s.flushed(ctx, s.find("ckpt.1")); in || err != nil {
				t.Errorf("flushed: %v %v", in, err)
			}
			if err := s.Flush(ctx, "ckpt.1"); err != nil {
				return err
			}
			return s.WaitFlush(ctx, "")
		})
		cl.lose("node0", "node1", "node2", "node3")
		cl.mustRestart(1)
	}
}

// TestAsync: Complete returns while the copy waits, the dataset is not complete meanwhile, nobody needs to call
// anything for it to end, and a crash in the middle leaves nothing that counts.
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
		if err := cl.write(ctx, s, rank, 1); err != nil {
			return err
		}
		if err := s.c.Barrier(ctx); err != nil {
			return err
		}
		if rank == 0 {
			x, err := dir.ReadIndex()
			if err != nil {
				return err
			}
			if e, ok := x.Entry("ckpt.1"); !ok || e.Complete {
				t.Errorf("before the copy: %+v %v", e, ok)
			}
			f, err := dir.ReadFlush()
			if err != nil {
				return err
			}
			if !f.Is(1, prefixdir.Flushing|prefixdir.Cache) || f.Is(1, prefixdir.PFS) {
				t.Errorf("flush file: %+v", f.Entries())
			}
			close(gate)
			for { // without any call of the session
				if x, err := dir.ReadIndex(); err == nil {
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

// TestAsyncCrash: killed while a flush is in the background; the next run flushes it again at its end.
func TestAsyncCrash(t *testing.T) {
	for _, step := range []string{"copy", "map", "summary", "index"} {
		cl := fourNodes(t).set("SCR_FLUSH", "2", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0")
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			for n := 1; n <= 2; n++ {
				if err := cl.write(ctx, s, rank, n); err != nil {
					return err
				}
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

// TestHalt: each condition of the halt file, and the countdown of checkpoints.
func TestHalt(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	cl := fourNodes(t).set("SCR_END_TIME", fmt.Sprint(now.Unix()+1000), "SCR_HALT_SECONDS", "600")
	at := now
	cl.clock = func() time.Time { return at }
	dir := prefixdir.Open(cl.fs, testPrefix)
	ask := func(want string) {
		t.Helper()
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			stop, why, err := s.ShouldExit(ctx)
			if err != nil || stop != (want != "") || why != want {
				t.Errorf("rank %d: %v %q %v, want %q", rank, stop, why, err, want)
			}
			need, err := s.NeedCheckpoint(ctx)
			if err != nil || need != (want != "") {
				t.Errorf("rank %d: need %v %v", rank, need, err)
			}
			return nil
		})
		must(t, dir.UpdateHalt(context.Background(), func(h *cadence.Halt) error { *h = cadence.Halt{}; return nil }))
	}
	ask("")
	at = now.Add(401 * time.Second)
	ask(cadence.TimeLimit)
	at = now
	for want, h := range map[string]cadence.Halt{
		cadence.NoCheckpointsLeft: {CheckpointsLeft: cadence.Int(0)},
		cadence.ExitBeforeTime:    {ExitBefore: cadence.Int(now.Unix() + 599)},
		cadence.ExitAfterTime:     {ExitAfter: cadence.Int(now.Unix())},
		"tired":                   {ExitReason: "tired"},
		"":                        {ExitReason: cadence.FinalizeCalled},
	} {
		must(t, dir.UpdateHalt(context.Background(), func(g *cadence.Halt) error { *g = h; return nil }))
		ask(want)
	}
	must(t, dir.UpdateHalt(context.Background(), func(g *cadence.Halt) error { g.CheckpointsLeft = cadence.Int(2); return nil }))
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 2; n++ {
			if stop, _, err := s.ShouldExit(ctx); err != nil || stop {
				t.Errorf("before %d: %v %v", n, stop, err)
			}
			if err := cl.write(ctx, s, rank, n); err != nil {
				return err
			}
		}
		stop, why, err := s.ShouldExit(ctx)
		if !stop || why != cadence.NoCheckpointsLeft {
			t.Errorf("%v %q %v", stop, why, err)
		}
		return err
	})
}

// TestLone: a scheme that cannot be had is an error with Strict, and otherwise said aloud.
func TestLone(t *testing.T) {
	cl := newCluster(t, "node0", "node0", "node0")
	cl.log = &bytes.Buffer{}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if len(s.Notes()) != 1 || !strings.Contains(s.Notes()[0], "SINGLE") {
			t.Errorf("notes: %q", s.Notes())
		}
		return nil
	})
	if !strings.Contains(cl.log.String(), "too few failure groups") {
		t.Errorf("log: %s", cl.log)
	}
	cl.opts = func(c *Config) { c.Strict = true }
	var lone *redset.LoneError
	if err := cl.run(func(context.Context, *Session, int) error { return nil }); !errors.As(err, &lone) {
		t.Error(err)
	}
}

// TestManage: Current, Drop, Delete, and a name that is used again.
func TestManage(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1")
	must(t, cl.checkpoints(1, 4))
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := s.Current(ctx, "ckpt.9"); !errors.Is(err, ErrMissing) {
			t.Errorf("Current of what is not there: %v", err)
		}
		if err := s.Current(ctx, "ckpt.2"); err != nil {
			return err
		}
		r, ok, err := s.HaveRestart(ctx)
		if err != nil || !ok || r.Name != "ckpt.2" {
			t.Errorf("%+v %v %v", r, ok, err)
		}
		if _, err := cl.read(ctx, s, rank); err != nil {
			return err
		}
		// The run goes on from 2 and takes 3 again: another dataset of the same name.
		if err := cl.write(ctx, s, rank, 3); err != nil {
			return err
		}
		if s.ids.set != 5 {
			t.Errorf("number %d", s.ids.set)
		}
		if err := s.Drop(ctx, "ckpt.1"); err != nil {
			return err
		}
		return s.Delete(ctx, "ckpt.4")
	})
	x, err := prefixdir.Open(cl.fs, testPrefix).ReadIndex()
	must(t, err)
	var names []string
	for _, e := range x.Entries() {
		names = append(names, fmt.Sprint(e.Name, " ", e.ID))
	}
	if got := strings.Join(names, ", "); got != "ckpt.3 5, ckpt.2 2" {
		t.Errorf("index: %s", got)
	}
	files := tree(t, cl.fs, testPrefix)
	for name, want := range map[string]bool{"ckpt.1/rank_0.0.ckpt": true, "ckpt.4/rank_0.0.ckpt": false, "ckpt.3/rank_0.0.ckpt": true} {
		if _, ok := files[name]; ok != want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	cl.lose("node0", "node1", "node2", "node3")
	cl.mustRestart(3)
}

// TestPrefixSize: only so many checkpoints stay in the prefix directory; output stays.
func TestPrefixSize(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_PREFIX_SIZE", "2")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 5; n++ {
			f := Checkpoint
			if n == 2 {
				f |= Output
			}
			if err := s.Start(ctx, fmt.Sprintf("ckpt.%d", n), f); err != nil {
				return err
			}
			name, err := s.Route(fileName(n, rank, 0))
			if err != nil {
				return err
			}
			if err := put(cl.fs, name, content(n, rank, 0)); err != nil {
				return err
			}
			if err := s.Complete(ctx, true); err != nil {
				return err
			}
		}
		return nil
	})
	x, err := prefixdir.Open(cl.fs, testPrefix).ReadIndex()
	must(t, err)
	var got []string
	for _, e := range x.Entries() {
		got = append(got, e.Name)
	}
	if strings.Join(got, " ") != "ckpt.5 ckpt.4 ckpt.2" {
		t.Errorf("index: %v", got)
	}
}
