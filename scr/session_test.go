package scr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/cadence"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/redset"
)

// each runs f on the ranks of four nodes.
func each(t *testing.T, cl *cluster, f func(ctx context.Context, s *Session, rank int) error) {
	t.Helper()
	must(t, cl.run(f))
}

// TestStates makes each call in each state. A call at the wrong time must fail with ErrState on all ranks and change
// nothing.
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
			if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), name+" in state ") {
				t.Errorf("%s in state %s: %v", name, was, err)
			}
			if s.state != was {
				t.Errorf("%s in state %s leads to %s", name, was, s.state)
			}
		}
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		wrong(ctx, s, idle)
		must(t, s.Start(ctx, "ckpt.2", Checkpoint))
		wrong(ctx, s, func(n string) bool { return n == "Complete" })
		must(t, s.Complete(ctx, true))
		if _, err := s.StartRestart(ctx); err != nil {
			return err
		}
		wrong(ctx, s, func(n string) bool { return n == "CompleteRestart" })
		must(t, s.CompleteRestart(ctx, true))
		must(t, s.Close(ctx))
		wrong(ctx, s, func(string) bool { return false })
		if got, err := s.Route("a"); err != nil || got != "a" {
			t.Errorf("Route after Close: %q, %v", got, err)
		}
		return s.Close(ctx) // a second Close has no effect
	})
}

// TestDisabled checks that Open returns ErrDisabled with SCR_ENABLE=0.
func TestDisabled(t *testing.T) {
	err := fourNodes(t).set("SCR_ENABLE", "0").run(func(context.Context, *Session, int) error { return nil })
	if !errors.Is(err, ErrDisabled) {
		t.Error(err)
	}
}

// TestMissingFile checks that a dataset fails on all ranks if a file was routed but not written. The error must name
// the file.
func TestMissingFile(t *testing.T) {
	cl := fourNodes(t)
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, s.Start(ctx, "ckpt.1", Checkpoint))
		name, err := s.Route(fileName(1, rank, 0))
		must(t, err)
		if rank != 3 {
			must(t, put(cl.fs, name, content(1, rank, 0)))
		}
		if err := s.Complete(ctx, true); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "dataset ckpt.1: ckpt.1/rank_3.0.ckpt: ") {
			t.Errorf("rank %d: %v", rank, err)
		}
		return nil
	})
	cl.mustRestart(0)
}

// TestNames checks which names may be routed, and which names two files with the same base name get in the cache.
func TestNames(t *testing.T) {
	cl := newCluster(t, "node0", "node0", "node1", "node1").set("SCR_FLUSH", "1")
	var mu sync.Mutex
	seen := map[string]bool{}
	data := func(rank, i int) []byte { return []byte(fmt.Sprintf("rank %d file %d", rank, i)) }
	file := func(rank, i int) string { return fmt.Sprintf("%s/d%d/part%d/state", testPrefix, rank, i) }
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, s.Start(ctx, "one", Checkpoint|Output))
		for _, bad := range []string{"", "/etc/passwd", "../x", testPrefix, testPrefix + "/../y", testPrefix + "/.scr/index.scr", strings.Repeat("n", 5000)} {
			if _, err := s.Route(bad); err == nil {
				t.Errorf("Route(%.40q) is accepted", bad)
			}
		}
		for i := range 3 {
			name, err := s.Route(file(rank, i))
			must(t, err)
			if again, err := s.Route(file(rank, i)); err != nil || again != name {
				t.Errorf("%q, then %q, %v", name, again, err)
			}
			mu.Lock()
			if seen[name] {
				t.Errorf("%s is given out twice", name)
			}
			seen[name] = true
			mu.Unlock()
			must(t, put(cl.fs, name, data(rank, i)))
		}
		long := strings.Repeat("n", 200) + "/" + strings.Repeat("m", 200)
		name, err := s.Route(long)
		must(t, err)
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
				must(t, err)
				if b, err := vfs.ReadFile(cl.fs, name, 100); err != nil || !bytes.Equal(b, data(rank, i)) {
					t.Errorf("rank %d file %d: %q, %v", rank, i, b, err)
				}
			}
			return s.CompleteRestart(ctx, true)
		})
	}
}

// TestCacheSize checks that the cache holds at most the configured number of datasets, and that the numbering
// continues.
func TestCacheSize(t *testing.T) {
	for size := 1; size <= 3; size++ {
		cl := fourNodes(t).set("SCR_CACHE_SIZE", fmt.Sprint(size), "SCR_FLUSH", "0")
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			for n := 1; n <= 5; n++ {
				must(t, cl.write(ctx, s, rank, n))
				if len(s.cache.sets) != min(n, size) || s.cache.ids.set != n {
					t.Errorf("size %d: %d datasets after %d", size, len(s.cache.sets), n)
				}
			}
			return nil
		})
		flush, err := prefixdir.Open(cl.fs, testPrefix).Flush.Read()
		must(t, err)
		if n := len(flush.Entries()); n != size {
			t.Errorf("size %d: the flush file has %d datasets", size, n)
		}
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

// TestLevels checks that a checkpoint uses the descriptor whose interval divides its number.
func TestLevels(t *testing.T) {
	cl := fourNodes(t).set("SCR_COPY_TYPE", "FILE", "SCR_FLUSH", "0", "SCR_CACHE_SIZE", "6", "SCR_CONF_FILE", "/p/conf")
	must(t, put(cl.fs, "/p/conf", []byte("CKPT=0 INTERVAL=1 TYPE=SINGLE STORE=/local GROUP=NODE\nCKPT=1 INTERVAL=2 TYPE=XOR SET_SIZE=4 STORE=/local GROUP=NODE\nCKPT=2 INTERVAL=4 TYPE=RS SET_FAILURES=2 SET_SIZE=4 STORE=/local GROUP=NODE\n")))
	must(t, cl.checkpoints(1, 5))
	cl.mustRestart(5)
	cl.lose("node0")
	cl.mustRestart(4)
	cl.lose("node0", "node1")
	// Two nodes are lost. RS can still restore the checkpoint.
	cl.mustRestart(4)
	cl.lose("node0", "node1", "node2")
	cl.mustRestart(0)
}

// TestHalt checks each condition of the halt file, and the countdown of checkpoints.
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
		must(t, dir.Halt.Update(context.Background(), func(h *cadence.Halt) error { *h = cadence.Halt{}; return nil }))
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
		must(t, dir.Halt.Update(context.Background(), func(g *cadence.Halt) error { *g = h; return nil }))
		ask(want)
	}
	must(t, dir.Halt.Update(context.Background(), func(g *cadence.Halt) error { g.CheckpointsLeft = cadence.Int(2); return nil }))
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 2; n++ {
			if stop, _, err := s.ShouldExit(ctx); err != nil || stop {
				t.Errorf("before %d: %v %v", n, stop, err)
			}
			must(t, cl.write(ctx, s, rank, n))
		}
		stop, why, err := s.ShouldExit(ctx)
		if !stop || why != cadence.NoCheckpointsLeft {
			t.Errorf("%v %q %v", stop, why, err)
		}
		return err
	})
}

// TestDefect5Lone checks that an impossible scheme causes an error with Strict, and a note otherwise.
func TestDefect5Lone(t *testing.T) {
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
	var lone *redset.GroupsError
	if err := cl.run(func(context.Context, *Session, int) error { return nil }); !errors.As(err, &lone) {
		t.Error(err)
	}
}

// TestPrefixSize checks that the number of checkpoints in the prefix directory is limited and that output is kept.
func TestPrefixSize(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_PREFIX_SIZE", "2")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 5; n++ {
			f := Checkpoint
			if n == 2 {
				f |= Output
			}
			must(t, s.Start(ctx, fmt.Sprintf("ckpt.%d", n), f))
			name, err := s.Route(fileName(n, rank, 0))
			must(t, err)
			must(t, put(cl.fs, name, content(n, rank, 0)))
			must(t, s.Complete(ctx, true))
		}
		return nil
	})
	x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
	must(t, err)
	var got []string
	for _, e := range x.Entries() {
		got = append(got, e.Name)
	}
	if strings.Join(got, " ") != "ckpt.5 ckpt.4 ckpt.2" {
		t.Errorf("index: %v", got)
	}
}
