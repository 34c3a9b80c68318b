package scr

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/transfer"
)

// daemons is a cluster of two nodes on which transfer processes do the background flushes.
type daemons struct {
	*cluster
	t   *testing.T
	dir string
}

func daemonCluster(t *testing.T, wait time.Duration, kv ...string) *daemons {
	cl, dir := diskCluster(t, "node0", "node0", "node1", "node1")
	cl.set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0").set(kv...)
	d := &daemons{cl, t, dir}
	d.patience(wait)
	return d
}

// patience sets the time for which a flush waits for a process.
func (d *daemons) patience(wait time.Duration) {
	under := d.opts
	d.opts = func(c *Config) { under(c); c.Daemon, c.DaemonWait = true, wait }
}

// serve runs transfer processes on nodes until ctx ends or no work is left.
func (d *daemons) serve(ctx context.Context, o transfer.ServeOptions, nodes ...string) *sync.WaitGroup {
	var wg sync.WaitGroup
	for _, node := range nodes {
		wg.Go(func() {
			o := o
			o.Prefix = filepath.Join(d.dir, "prefix")
			o.File, o.Poll = filepath.Join(d.dir, "nodes", node, "local/user1/scr.77", transfer.FileName), 5*time.Millisecond
			if err := transfer.Serve(ctx, o); err != nil && ctx.Err() == nil {
				d.t.Errorf("%s: %v", node, err)
			}
		})
	}
	synctest.Wait()
	return &wg
}

// whole fails the test unless a dataset is complete in the prefix directory.
func (d *daemons) whole(name string) {
	d.t.Helper()
	x, err := prefixdir.Open(vfs.OS, filepath.Join(d.dir, "prefix")).Index.Read()
	must(d.t, err)
	if e, ok := x.Entry(name); !ok || !e.Complete {
		d.t.Errorf("%+v %v", e, ok)
	}
}

// TestDaemon checks that a transfer process on each node does the background flushes and survives the run. Copies that a dead run
// requested must still be made. The next run must not repeat them.
func TestDaemon(t *testing.T) { synctest.Test(t, daemonOutlives) }

func daemonOutlives(t *testing.T) {
	cl := daemonCluster(t, 0)
	ctx, stop := context.WithCancel(context.Background())
	wg := cl.serve(ctx, transfer.ServeOptions{}, "node0", "node1")
	defer wg.Wait()
	defer stop()

	each(t, cl.cluster, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 3; n++ {
			must(t, cl.write(ctx, s, rank, n))
		}
		must(t, s.WaitFlush(ctx, ""))
		return s.Close(ctx)
	})
	cl.whole("ckpt.3")
	for _, node := range []string{"node0", "node1"} {
		must(t, os.RemoveAll(filepath.Join(cl.dir, "nodes", node, "local", "user1", "scr.77", "scr.dataset.3")))
	}
	cl.mustRestart(3)

	// The processes end. Then a run requests a flush and dies.
	stop()
	wg.Wait()
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		must(t, cl.write(ctx, s, rank, 4))
		name, noLock := s.flush.copier.courier.file()
		for {
			f, err := transfer.ReadFile(ctx, s.cfg.FS, name, noLock)
			must(t, err)
			if len(f.Items) == 2*cl.files { // the items of both ranks of the node
				return s.c.Barrier(ctx)
			}
			time.Sleep(time.Millisecond)
		}
	}))
	cl.serve(context.Background(), transfer.ServeOptions{Once: true}, "node0", "node1").Wait()
	for rank := range 4 {
		for i := range cl.files {
			b, err := os.ReadFile(filepath.Join(cl.dir, "prefix", fileName(4, rank, i)))
			if err != nil || string(b) != string(content(4, rank, i)) {
				t.Errorf("rank %d, file %d: not copied: %v", rank, i, err)
			}
		}
	}
	// The next run continues this flush.
	each(t, cl.cluster, func(ctx context.Context, s *Session, rank int) error {
		if n, err := cl.read(ctx, s, rank); n != 4 || err != nil {
			t.Errorf("restarted from %d, %v", n, err)
		}
		return s.Close(ctx)
	})
	cl.whole("ckpt.4")
}

// TestDaemonContainers checks that transfer processes on several nodes can write to the same containers, and that the data can be
// fetched back.
func TestDaemonContainers(t *testing.T) { synctest.Test(t, daemonContainers) }

func daemonContainers(t *testing.T) {
	cl := daemonCluster(t, 0, "SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", "3000")
	ctx, stop := context.WithCancel(context.Background())
	wg := cl.serve(ctx, transfer.ServeOptions{}, "node0", "node1")
	defer wg.Wait()
	defer stop()
	each(t, cl.cluster, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 2; n++ {
			must(t, cl.write(ctx, s, rank, n))
		}
		must(t, s.WaitFlush(ctx, ""))
		return s.Close(ctx)
	})
	cl.whole("ckpt.2")
	all := tree(t, vfs.OS, filepath.Join(cl.dir, "prefix"))
	if all[".scr/scr.dataset.2/ctr.0.scr"] != 3000 || all[".scr/scr.dataset.2/ctr.1.scr"] == 0 {
		t.Errorf("no containers: %v", all)
	}
	if _, ok := all[fileName(2, 0, 0)]; ok {
		t.Error("a file is beside its container")
	}
	// The nodes are lost together with their processes. Stop the processes first, because a running process would write its state
	// to the node during the loss.
	stop()
	wg.Wait()
	must(t, os.RemoveAll(filepath.Join(cl.dir, "nodes")))
	must(t, os.MkdirAll(filepath.Join(cl.dir, "nodes", "node0", "local"), 0o777))
	must(t, os.MkdirAll(filepath.Join(cl.dir, "nodes", "node1", "local"), 0o777))
	cl.mustRestart(2)
}

// TestDaemonMissing checks that a flush fails if there are no transfer processes, or if they die during the flush. A later flush
// with new processes must succeed. A running process must not cause a timeout. The test uses simulated time.
func TestDaemonMissing(t *testing.T) { synctest.Test(t, daemonMissing) }

func daemonMissing(t *testing.T) {
	cl := daemonCluster(t, 300*time.Millisecond, "SCR_CACHE_SIZE", "4")
	flush := func(ctx context.Context, s *Session, rank, n int) error {
		if err := cl.write(ctx, s, rank, n); err != nil {
			return err
		}
		return s.WaitFlush(ctx, "")
	}
	begun := make(chan struct{}) // closed when rank 0 is flushing checkpoint 3, at a rate that takes minutes
	dead := make(chan struct{})
	each(t, cl.cluster, func(ctx context.Context, s *Session, rank int) error {
		// No process runs.
		if err := flush(ctx, s, rank, 1); !errors.Is(err, ErrMissing) {
			t.Errorf("rank %d, no process: %v", rank, err)
		} else if !strings.Contains(err.Error(), "no transfer process") || !strings.Contains(err.Error(), "start blobio scr transfer") {
			t.Errorf("rank %d: it does not say what is to be done: %v", rank, err)
		}
		if e := s.c.Barrier(ctx); e != nil {
			return e
		}
		// Only one of two nodes has a process. All ranks must get an error that names the other node.
		if rank == 0 {
			stop, cancel := context.WithCancel(ctx)
			wg := cl.serve(stop, transfer.ServeOptions{}, "node0")
			defer wg.Wait()
			defer cancel()
		}
		if err := flush(ctx, s, rank, 2); !errors.Is(err, ErrMissing) {
			t.Errorf("rank %d, one process: %v", rank, err)
		}
		if e := s.c.Barrier(ctx); e != nil {
			return e
		}
		return nil
	})
	stop, cancel := context.WithCancel(t.Context())
	slow := cl.serve(stop, transfer.ServeOptions{Rate: 100}, "node0", "node1")
	var killed atomic.Bool
	go func() {
		defer close(dead)
		<-begun
		time.Sleep(600 * time.Millisecond) // longer than DaemonWait
		killed.Store(true)
		cancel()
		slow.Wait()
	}()
	each(t, cl.cluster, func(ctx context.Context, s *Session, rank int) error {
		must(t, cl.write(ctx, s, rank, 3))
		if rank == 0 {
			close(begun)
		}
		if err := s.WaitFlush(ctx, ""); !errors.Is(err, ErrMissing) || !killed.Load() {
			t.Errorf("rank %d: %v, processes killed: %v", rank, err, killed.Load())
		}
		return nil
	})
	<-dead
	stop, cancel = context.WithCancel(t.Context())
	cl.patience(time.Minute)
	good := cl.serve(stop, transfer.ServeOptions{}, "node0", "node1")
	defer good.Wait()
	defer cancel()
	each(t, cl.cluster, func(ctx context.Context, s *Session, rank int) error {
		must(t, flush(ctx, s, rank, 4))
		return s.Close(ctx)
	})
	cl.whole("ckpt.4")
}
