package scr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/internal/base/vfs"
)

// TestRouteOfOthers checks that all ranks of a node can read a file of rank 0, and that all ranks can read it when it is in the
// prefix directory.
func TestRouteOfOthers(t *testing.T) {
	for _, c := range []struct {
		flush, bypass string
		all           bool
	}{{"0", "0", false}, {"1", "0", true}, {"0", "1", true}} {
		t.Run(fmt.Sprintf("flush=%s,bypass=%s", c.flush, c.bypass), func(t *testing.T) {
			cl := newCluster(t, "node0", "node0", "node1", "node1").set("SCR_FLUSH", c.flush, "SCR_CACHE_BYPASS", c.bypass, "SCR_COPY_TYPE", "SINGLE")
			const file = testPrefix + "/ckpt/root.dat"
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				if rank == 0 {
					return cl.writeFile(ctx, s, "one", Checkpoint, file, []byte("by rank 0"))
				}
				if err := s.Start(ctx, "one", Checkpoint); err != nil {
					return err
				}
				return s.Complete(ctx, true)
			})
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				if _, err := s.StartRestart(ctx); err != nil {
					return err
				}
				name, err := s.Route(file)
				if !c.all && rank > 1 {
					if !errors.Is(err, ErrMissing) {
						t.Errorf("rank %d, on another node: %q, %v", rank, name, err)
					}
					return s.CompleteRestart(ctx, true)
				}
				if err != nil {
					return err
				}
				if b, err := vfs.ReadFile(cl.fs, name, 100); err != nil || string(b) != "by rank 0" {
					t.Errorf("rank %d reads %q, %v", rank, b, err)
				}
				if _, err := s.Route(testPrefix + "/ckpt/none.dat"); !errors.Is(err, ErrMissing) {
					t.Errorf("a file of nobody: %v", err)
				}
				return s.CompleteRestart(ctx, true)
			})
		})
	}
}

// mapReads is a file system that counts how often file maps are opened.
type mapReads struct {
	vfs.FS
	n *atomic.Int64
}

func (m mapReads) Open(name string) (vfs.File, error) {
	if strings.HasPrefix(path.Base(name), "filemap_") {
		m.n.Add(1)
	}
	return m.FS.Open(name)
}

// TestRouteOfOthersReads checks that a rank finds a file of another rank without reading the file maps of all ranks of the node.
func TestRouteOfOthersReads(t *testing.T) {
	cl := newCluster(t, "node0", "node0", "node0", "node0").set("SCR_FLUSH", "0", "SCR_COPY_TYPE", "SINGLE")
	must(t, cl.checkpoints(1, 1))
	var reads atomic.Int64
	cl.fs = mapReads{cl.fs, &reads}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if _, err := s.StartRestart(ctx); err != nil {
			return err
		}
		before := reads.Load()
		if rank == 0 {
			name, err := s.Route(fileName(1, 2, 0))
			if b, rerr := vfs.ReadFile(cl.fs, name, 1<<20); err != nil || rerr != nil || string(b) != string(content(1, 2, 0)) {
				t.Errorf("%d bytes of %s, %v, %v", len(b), name, err, rerr)
			}
			if n := reads.Load() - before; n != 1 {
				t.Errorf("%d file maps were read, want 1", n)
			}
		}
		return s.CompleteRestart(ctx, true)
	})
}

// TestRouteInCache checks that Route writes nothing into a cache, and that the next run removes the files of a dead run.
func TestRouteInCache(t *testing.T) {
	cl := fourNodes(t)
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := s.Start(ctx, "one", Checkpoint); err != nil {
			return err
		}
		node := "/nodes/" + cl.nodes[rank]
		before := tree(t, cl.fs, node)
		name, err := s.Route("one/state")
		if err != nil {
			return err
		}
		if after := tree(t, cl.fs, node); !maps.Equal(before, after) {
			t.Errorf("before %v, after %v", before, after)
		}
		return put(cl.fs, name, content(1, rank, 0))
	})
	cl.mustRestart(0)
	for name := range tree(t, cl.fs, "/nodes") {
		if path.Base(name) == "state" {
			t.Errorf("%s is left", name)
		}
	}
}

// TestRouteUnasked checks that a program written for SCR 1 can route the files of the last checkpoint directly after Init.
func TestRouteUnasked(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "0")
	must(t, cl.checkpoints(1, 3))
	for _, asks := range []bool{false, true} {
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			if asks {
				if _, ok, err := s.HaveRestart(ctx); err != nil || !ok {
					return fmt.Errorf("%v, %w", ok, err)
				}
			}
			name, err := s.Route(fileName(3, rank, 0))
			if err != nil {
				return err
			}
			if b, err := vfs.ReadFile(cl.fs, name, 1<<20); err != nil || string(b) != string(content(3, rank, 0)) {
				t.Errorf("rank %d: %d bytes of %s, %v", rank, len(b), name, err)
			}
			if other, err := s.Route(fileName(2, rank, 0)); err != nil || other != fileName(2, rank, 0) {
				t.Errorf("a file of an older checkpoint is routed to %s, %v", other, err)
			}
			return nil
		})
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := cl.write(ctx, s, rank, 4); err != nil {
			return err
		}
		if name, err := s.Route(fileName(4, rank, 0)); err != nil || name != fileName(4, rank, 0) {
			t.Errorf("between checkpoints a file is routed to %s, %v", name, err)
		}
		return nil
	})
}
