package scr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// TestFallback lets the application reject checkpoints. A rejected checkpoint must be marked as failed, and the next older
// checkpoint must be offered, until the application accepts a checkpoint or none is left.
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
	x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
	must(t, err)
	for _, e := range x.Entries() {
		if e.Failed.IsZero() {
			t.Errorf("%s is not marked", e.Name)
		}
	}
	if name := x.Current(); name != "" {
		t.Errorf("%s is the one to start from, and failed", name)
	}
}

// TestRefusedOnce checks that an older checkpoint is offered after a rejected one, even if the index cannot be written.
func TestRefusedOnce(t *testing.T) {
	for _, global := range []string{"0", "1"} {
		cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_GLOBAL_RESTART", global) // the caches have the checkpoint too
		must(t, cl.checkpoints(1, 3))
		mem := cl.fs
		cl.ready, cl.conf = true, mem
		var sick atomic.Bool
		cl.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			if sick.Load() && op.Kind == vfs.OpRename && strings.HasSuffix(op.New, "/index.scr") {
				return syscall.EIO
			}
			return nil
		})
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			if r, err := s.StartRestart(ctx); err != nil || r.Name != "ckpt.3" || r.InPlace != (global == "1") {
				return fmt.Errorf("%+v: %w", r, err)
			}
			sick.Store(true)
			must(t, s.c.Barrier(ctx))
			if err := s.CompleteRestart(ctx, rank != 2); !errors.Is(err, ErrInvalid) || rank == 0 && !errors.Is(err, syscall.EIO) {
				t.Errorf("rank %d: %v", rank, err)
			}
			must(t, s.c.Barrier(ctx))
			sick.Store(false)
			must(t, s.c.Barrier(ctx))
			if n, err := cl.read(ctx, s, rank); n != 2 || err != nil {
				t.Errorf("global %s, rank %d: then %d was offered, %v", global, rank, n, err)
			}
			return nil
		})
	}
}

// TestGoesOnFromOlder checks that newer checkpoints are deleted from the caches when the run continues from an older checkpoint.
func TestGoesOnFromOlder(t *testing.T) {
	for _, how := range []string{"refused", "Current"} {
		cl := fourNodes(t).set("SCR_FLUSH", "0", "SCR_CACHE_SIZE", "5")
		must(t, cl.checkpoints(1, 4))
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			if how == "Current" {
				return s.Current(ctx, "ckpt.2")
			}
			// Simulate that another run could not read the checkpoints after 2, which are still in the caches.
			s.cache.sets[2].usable, s.cache.sets[3].usable = false, false
			n, err := cl.read(ctx, s, rank)
			if n != 2 {
				t.Errorf("restarted from %d", n)
			}
			return err
		})
		for name := range tree(t, cl.fs, "/nodes") {
			if strings.Contains(name, "scr.dataset.3/") || strings.Contains(name, "scr.dataset.4/") {
				t.Errorf("%s: %s is left", how, name)
			}
		}
		cl.mustRestart(2)
	}
}

// TestPrefixDoubtful checks when a checkpoint in the prefix directory is offered. Its summary must be complete, and all files in
// its map must exist with the right lengths. The index alone is not enough.
func TestPrefixDoubtful(t *testing.T) {
	edit := func(cl *cluster, change func(files []prefixdir.File) []prefixdir.File) {
		d := prefixdir.Open(cl.fs, testPrefix)
		m, err := d.Datasets.ReadMap(d.Datasets.Place(2))
		must(t, err)
		must(t, d.Datasets.WriteMap(2, m.Ranks, func(rank int) ([]prefixdir.File, error) {
			if rank == 3 {
				return change(m.Files[rank]), nil
			}
			return m.Files[rank], nil
		}))
	}
	for how, hurt := range map[string]func(cl *cluster){
		"not finished": func(cl *cluster) {
			d := prefixdir.Open(cl.fs, testPrefix)
			sum, err := d.Datasets.ReadSummary(d.Datasets.Place(2))
			must(t, err)
			must(t, d.Datasets.WriteSummary(sum.Dataset, false))
		},
		"a file less": func(cl *cluster) {
			edit(cl, func(files []prefixdir.File) []prefixdir.File { return files[:1] })
		},
		"cut, without a checksum": func(cl *cluster) { // as the original SCR flushes
			edit(cl, func(files []prefixdir.File) []prefixdir.File {
				files[0].HasCRC = false
				return files
			})
			f, err := cl.fs.OpenRW(testPrefix + "/" + fileName(2, 3, 0))
			must(t, err)
			must(t, errors.Join(f.Truncate(100), f.Close()))
		},
	} {
		for _, global := range []string{"0", "1"} {
			cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_GLOBAL_RESTART", global)
			must(t, cl.checkpoints(1, 2))
			cl.lose(cl.nodes...)
			hurt(cl)
			if n, err := cl.restart(); n != 1 || err != nil {
				t.Errorf("%s, global %s: restarted from %d, %v", how, global, n, err)
			}
			x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
			must(t, err)
			if e, ok := x.Entry("ckpt.2"); !ok || e.Failed.IsZero() {
				t.Errorf("%s, global %s: not marked as failed", how, global)
			}
		}
	}
}

// TestOtherRanks restarts with fewer or more ranks. The ranks must be able to read files of any rank by name.
func TestOtherRanks(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1")
	must(t, cl.checkpoints(1, 2))
	for _, nodes := range [][]string{{"node0"}, {"node0", "node1", "node2"}, {"a", "b", "c", "d", "e", "f", "g"}} {
		next := cl.on(nodes...)
		next.mustRestart(2)
		each(t, next, func(ctx context.Context, s *Session, rank int) error {
			r, err := s.StartRestart(ctx)
			must(t, err)
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

// TestOtherRanksCached restarts with a different number of ranks. A checkpoint that is only in the caches must be saved to the
// prefix directory, even if a node is lost.
func TestOtherRanksCached(t *testing.T) {
	for k, scheme := range []string{"SINGLE", "PARTNER", "XOR", "RS"} {
		for i, nodes := range [][]string{
			{"node0", "node1", "node2"}, {"node3", "node2", "node1", "node0", "node0"}, {"node0", "spare", "node2", "node3", "node1", "spare"},
			{"node0", "node2", "node3"},
		} {
			if !crashtest.Long() && (i+k)%2 != 0 {
				continue
			}
			cl := fourNodes(t).set("SCR_COPY_TYPE", scheme, "SCR_FLUSH", "0")
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
				want = 0 // one node is missing
			case len(nodes) == 5 && scheme != "SINGLE":
				cl.lose("node2")
			}
			next := cl.on(nodes...)
			next.mustRestart(want)
			next.mustRestart(want) // again
			next.lose("node0", "node1", "node2", "node3")
			next.mustRestart(want)
		}
	}
}

// TestManage checks Current, Drop and Delete, and that a name can be used again.
func TestManage(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1")
	must(t, cl.checkpoints(1, 4))
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := s.Current(ctx, "ckpt.9"); !errors.Is(err, ErrMissing) {
			t.Errorf("Current of what is not there: %v", err)
		}
		must(t, s.Current(ctx, "ckpt.2"))
		r, ok, err := s.HaveRestart(ctx)
		if err != nil || !ok || r.Name != "ckpt.2" {
			t.Errorf("%+v %v %v", r, ok, err)
		}
		if _, err := cl.read(ctx, s, rank); err != nil {
			return err
		}
		// The run continues from 2 and takes 3 again, as another dataset with the same name.
		must(t, cl.write(ctx, s, rank, 3))
		if s.cache.ids.set != 5 {
			t.Errorf("number %d", s.cache.ids.set)
		}
		must(t, s.Drop(ctx, "ckpt.1"))
		return s.Delete(ctx, "ckpt.4")
	})
	x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
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

// TestNamesOfReference uses base names in the cache, as the original SCR does. Ranks of different nodes have files with equal
// names and move to one node. No file may replace another, and the dataset must be neither used nor damaged.
func TestNamesOfReference(t *testing.T) {
	write := func(cl *cluster) {
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			must(t, s.Start(ctx, "one", Checkpoint))
			name, err := s.Route(fmt.Sprintf("rank%d/state", rank))
			must(t, err)
			must(t, put(cl.fs, name, bytes.Repeat([]byte{byte(rank)}, 100)))
			return s.Complete(ctx, true)
		}))
	}
	for _, c := range []struct {
		nodes []string
		lost  []string
		want  bool
	}{
		{[]string{"node0", "node1", "node2", "node3"}, nil, true},
		{[]string{"node0", "node1", "spare", "node3"}, []string{"node2"}, true},
		{[]string{"node3", "node0", "node1", "node2"}, nil, false}, // each file would have to replace a file that is still there
		{[]string{"node0", "node1", "node3", "node3"}, []string{"node2"}, false},
		{[]string{"node0", "node0", "node2", "node3"}, nil, false},
	} {
		cl := fourNodes(t).set("SCR_FLUSH", "0")
		cl.together = true
		write(cl)
		cl.lose(c.lost...)
		for _, nodes := range [][]string{c.nodes, {"node0", "node1", "node2", "node3"}} {
			next := cl.on(nodes...)
			must(t, next.run(func(ctx context.Context, s *Session, rank int) error {
				_, ok, err := s.HaveRestart(ctx)
				if err != nil || !ok {
					if c.want || len(c.lost) == 0 && nodes[1] == "node1" {
						t.Errorf("%v: not offered: %v", nodes, err)
					}
					return err
				}
				if _, err := s.StartRestart(ctx); err != nil {
					return err
				}
				name, err := s.Route(fmt.Sprintf("rank%d/state", rank))
				must(t, err)
				if b, err := vfs.ReadFile(cl.fs, name, 1000); err != nil || !bytes.Equal(b, bytes.Repeat([]byte{byte(rank)}, 100)) {
					t.Errorf("%v, rank %d: wrong bytes: %v", nodes, rank, err)
				}
				return s.CompleteRestart(ctx, true)
			}))
		}
	}
}
