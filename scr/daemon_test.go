package scr

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"blobio/internal/vfs"
	"blobio/scr/prefixdir"
	"blobio/scr/transfer"
)

// TestDaemon: a transfer process on each node does the background flushes. It outlives the run: what a run that died
// asked for is copied all the same, and the next run needs not copy it again.
func TestDaemon(t *testing.T) {
	cl, dir := diskCluster(t, "node0", "node0", "node1", "node1")
	cl.set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0")
	under := cl.opts
	cl.opts = func(c *Config) { under(c); c.Daemon = true }

	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, node := range []string{"node0", "node1"} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			err := transfer.Serve(ctx, transfer.ServeOptions{
				File: filepath.Join(dir, "nodes", node, "local/user1/scr.77", transfer.FileName), Poll: 5 * time.Millisecond,
			})
			if err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", node, err)
			}
		}()
	}
	defer wg.Wait()
	defer stop()

	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 3; n++ {
			if err := cl.write(ctx, s, rank, n); err != nil {
				return err
			}
		}
		if err := s.WaitFlush(ctx, ""); err != nil {
			return err
		}
		return s.Close(ctx)
	})
	x, err := prefixdir.Open(vfs.OS, filepath.Join(dir, "prefix")).ReadIndex()
	must(t, err)
	if e, ok := x.Entry("ckpt.3"); !ok || !e.Complete {
		t.Errorf("%+v %v", e, ok)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "nodes", "node0", "local", "user1", "scr.77", "scr.dataset.3")))
	must(t, os.RemoveAll(filepath.Join(dir, "nodes", "node1", "local", "user1", "scr.77", "scr.dataset.3")))
	cl.mustRestart(3)

	// The processes end; a run asks for a flush, and dies.
	stop()
	wg.Wait()
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		if err := cl.write(ctx, s, rank, 4); err != nil {
			return err
		}
		name, lock := s.transferFile()
		for {
			f, err := transfer.ReadFile(ctx, s.cfg.FS, name, lock)
			if err != nil {
				return err
			}
			if len(f.Items) == 2*cl.files { // of both ranks of the node
				return s.c.Barrier(ctx)
			}
			time.Sleep(time.Millisecond)
		}
	}))
	for _, node := range []string{"node0", "node1"} {
		must(t, transfer.Serve(context.Background(), transfer.ServeOptions{
			File: filepath.Join(dir, "nodes", node, "local/user1/scr.77", transfer.FileName), Once: true,
		}))
	}
	for rank := range 4 {
		for i := range cl.files {
			b, err := os.ReadFile(filepath.Join(dir, "prefix", fileName(4, rank, i)))
			if err != nil || string(b) != string(content(4, rank, i)) {
				t.Errorf("rank %d, file %d: not copied: %v", rank, i, err)
			}
		}
	}
	// The next run takes up from there.
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if n, err := cl.read(ctx, s, rank); n != 4 || err != nil {
			t.Errorf("restarted from %d, %v", n, err)
		}
		return s.Close(ctx)
	})
	if x, err = prefixdir.Open(vfs.OS, filepath.Join(dir, "prefix")).ReadIndex(); err != nil {
		t.Fatal(err)
	}
	if e, ok := x.Entry("ckpt.4"); !ok || !e.Complete {
		t.Errorf("%+v %v", e, ok)
	}
}

// TestDaemonContainers: transfer processes fill containers, those of several nodes the same one, and what is in them is
// fetched back.
func TestDaemonContainers(t *testing.T) {
	cl, dir := diskCluster(t, "node0", "node0", "node1", "node1")
	cl.set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0", "SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", "3000")
	under := cl.opts
	cl.opts = func(c *Config) { under(c); c.Daemon = true }
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, node := range []string{"node0", "node1"} {
		wg.Go(func() {
			err := transfer.Serve(ctx, transfer.ServeOptions{
				File: filepath.Join(dir, "nodes", node, "local/user1/scr.77", transfer.FileName), Poll: 5 * time.Millisecond,
			})
			if err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", node, err)
			}
		})
	}
	defer wg.Wait()
	defer stop()
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 2; n++ {
			if err := cl.write(ctx, s, rank, n); err != nil {
				return err
			}
		}
		if err := s.WaitFlush(ctx, ""); err != nil {
			return err
		}
		return s.Close(ctx)
	})
	x, err := prefixdir.Open(vfs.OS, filepath.Join(dir, "prefix")).ReadIndex()
	must(t, err)
	if e, ok := x.Entry("ckpt.2"); !ok || !e.Complete {
		t.Errorf("%+v %v", e, ok)
	}
	all := tree(t, vfs.OS, filepath.Join(dir, "prefix"))
	if all[".scr/scr.dataset.2/ctr.0.scr"] != 3000 || all[".scr/scr.dataset.2/ctr.1.scr"] == 0 {
		t.Errorf("no containers: %v", all)
	}
	if _, ok := all[fileName(2, 0, 0)]; ok {
		t.Error("a file is beside its container")
	}
	must(t, os.RemoveAll(filepath.Join(dir, "nodes")))
	must(t, os.MkdirAll(filepath.Join(dir, "nodes", "node0", "local"), 0o777))
	must(t, os.MkdirAll(filepath.Join(dir, "nodes", "node1", "local"), 0o777))
	cl.mustRestart(2)
}
