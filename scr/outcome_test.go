package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// All ranks must get the error of one rank, with or without shared memory.

func TestInvalidOnAllRanks(t *testing.T) {
	for _, apart := range []bool{false, true} {
		cl := fourNodes(t)
		cl.apart = apart
		must(t, cl.checkpoints(1, 2))
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			if _, err := s.StartRestart(ctx); err != nil {
				return err
			}
			if err := s.CompleteRestart(ctx, rank != 2); !errors.Is(err, ErrInvalid) {
				return fmt.Errorf("CompleteRestart, rank %d, apart %v: %w", rank, apart, err)
			}
			r, ok, err := s.HaveRestart(ctx)
			if err != nil || !ok || r.Name != "ckpt.1" {
				return fmt.Errorf("rank %d: %v, %v, %w", rank, r, ok, err)
			}
			must(t, s.Start(ctx, "ckpt.3", Checkpoint))
			if err := s.Complete(ctx, rank != 2); !errors.Is(err, ErrInvalid) {
				return fmt.Errorf("Complete, rank %d, apart %v: %w", rank, apart, err)
			}
			return s.Close(ctx)
		}))
	}
}

// The newest checkpoint must be offered, even if an older one was offered before the newest was written.
func TestOfferIsNotOutdated(t *testing.T) {
	cl := fourNodes(t)
	must(t, cl.checkpoints(1, 2))
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		if _, _, err := s.HaveRestart(ctx); err != nil {
			return err
		}
		for n := 3; n <= 4; n++ {
			must(t, cl.write(ctx, s, rank, n))
		}
		n, err := cl.read(ctx, s, rank)
		if err == nil && n != 4 {
			err = fmt.Errorf("restarted from %d, want 4", n)
		}
		return err
	}))
}

// After a restart from an older checkpoint, the run writes a newer one again under the same name.
func TestBypassWritesNameAgain(t *testing.T) {
	for _, async := range []string{"0", "1"} {
		cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", async)
		must(t, cl.checkpoints(1, 3))
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			must(t, s.Current(ctx, "ckpt.2"))
			if n, err := cl.read(ctx, s, rank); err != nil || n != 2 {
				return fmt.Errorf("restart from %d: %w", n, err)
			}
			return cl.write(ctx, s, rank, 3)
		}))
		cl.mustRestart(3)
		cl.lose("node0", "node1", "node2", "node3")
		cl.mustRestart(3)
	}
}

// An application always writes the same files, and the number of checkpoints in the prefix directory is
// limited.
func TestSlideKeepsFilesOfNewer(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_PREFIX_SIZE", "1")
	cl.files = 1
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 3; n++ {
			must(t, s.Start(ctx, fmt.Sprintf("ckpt.%d", n), Checkpoint))
			name, err := s.Route(fmt.Sprintf("state.%d", rank))
			must(t, err)
			must(t, put(cl.fs, name, content(n, rank, 0)))
			must(t, s.Complete(ctx, true))
		}
		return nil
	}))
	cl.lose("node0", "node1", "node2", "node3")
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		r, err := s.StartRestart(ctx)
		if err != nil || r.Name != "ckpt.3" {
			return fmt.Errorf("restart from %v: %w", r, err)
		}
		name, err := s.Route(fmt.Sprintf("state.%d", rank))
		must(t, err)
		b, err := vfs.ReadFile(cl.fs, name, 1<<20)
		if err == nil && string(b) != string(content(3, rank, 0)) {
			err = errors.New("wrong bytes")
		}
		return err
	}))
}

// If a checkpoint in the prefix directory is damaged, the cached checkpoint must not have been deleted.
func TestFetchKeepsFallback(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_SIZE", "1", "SCR_FLUSH", "0")
	must(t, cl.checkpoints(1, 1))
	other := cl.on("node4", "node5", "node6", "node7")
	other.env = map[string]string{}
	for k, v := range cl.env {
		other.env[k] = v
	}
	other.set("SCR_FLUSH", "1")
	must(t, other.checkpoints(2, 3))
	flip(t, cl.fs, testPrefix+"/"+fileName(2, 0, 0), 3)
	flip(t, cl.fs, testPrefix+"/"+fileName(3, 0, 0), 3)
	cl.mustRestart(1)
}

// One rank finds a damaged file in its cache, and another rank cannot write. All ranks must end in the same
// state.
func TestFlushMixedErrors(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "0")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(t, cl.run(func(_ context.Context, s *Session, rank int) error {
		must(t, cl.write(ctx, s, rank, 1))
		if rank == 2 {
			f := s.cache.sets[0].maps.Files()[0]
			flip(t, cl.fs, s.real(s.cache.sets[0], f.Name), 5)
		}
		if rank == 1 {
			f := s.cache.sets[0].maps.Files()[0]
			must(t, cl.fs.MkdirAll(f.Meta.Path+"/"+f.Meta.Name)) // the folder blocks the path of the file
		}
		err := s.Flush(ctx, "ckpt.1")
		if err == nil {
			return errors.New("no error")
		}
		if errors.Is(err, comm.ErrBroken) {
			return err
		}
		return s.c.Barrier(ctx)
	}))
}

// Two nodes share a disk. A new node must not use files of other ranks as its own.
func TestDeviceOfSeveralNodes(t *testing.T) {
	cl := newCluster(t, "node0", "node1", "node2", "node3").set("SCR_COPY_TYPE", "FILE", "SCR_FLUSH", "0", "SCR_CONF_FILE", "/p/conf")
	conf := ""
	for i := range 8 {
		conf += fmt.Sprintf("GROUPS=node%d RACK=r%d\n", i, i/2%2)
	}
	conf += "STORE=/rack GROUP=RACK COUNT=2\nCKPT=0 INTERVAL=1 TYPE=XOR SET_SIZE=2 STORE=/rack GROUP=RACK\n"
	must(t, put(cl.fs, "/p/conf", []byte(conf)))
	mkdirs(t, cl.fs, "/racks/r0")
	mkdirs(t, cl.fs, "/racks/r1")
	cl.conf = cl.fs
	cl.opts = func(c *Config) {
		var n int
		fmt.Sscanf(c.Node, "node%d", &n)
		c.FS = vfs.NewBind(c.FS, []vfs.Bind{{At: "/nodes/" + c.Node + "/rack", To: fmt.Sprintf("/racks/r%d", n/2%2)}})
	}
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		must(t, s.Start(ctx, "ckpt.1", Checkpoint))
		name, err := s.Route(fileName(1, rank, 0))
		must(t, err)
		must(t, put(s.cfg.FS, name, content(1, rank, 0)))
		return s.Complete(ctx, true)
	}))
	// node4 is new in the rack of node0, and node6 is new in the rack of node2.
	for _, now := range [][]string{{"node0", "node4", "node2", "node6"}} {
		must(t, cl.on(now...).run(func(ctx context.Context, s *Session, rank int) error {
			_, ok, err := s.HaveRestart(ctx)
			if err == nil && !ok {
				err = fmt.Errorf("nothing is left, nodes %v", now)
			}
			return err
		}))
	}
}

// With bypass, a failed dataset must not remove files that existed before.
func TestBypassInvalidKeepsOldFiles(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1")
	cl.files = 1
	write := func(ctx context.Context, s *Session, rank, n int, ok bool) error {
		if err := s.Start(ctx, fmt.Sprintf("ckpt.%d", n), Checkpoint); err != nil {
			return err
		}
		name, err := s.Route(fmt.Sprintf("state.%d", rank))
		if err != nil {
			return err
		}
		if ok {
			if err := put(cl.fs, name, content(n, rank, 0)); err != nil {
				return err
			}
		}
		return s.Complete(ctx, ok)
	}
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		must(t, write(ctx, s, rank, 1, true))
		if err := write(ctx, s, rank, 2, false); !errors.Is(err, ErrInvalid) {
			return err
		}
		if _, err := cl.fs.Stat(path.Join(testPrefix, fmt.Sprintf("state.%d", rank))); errors.Is(err, fs.ErrNotExist) {
			return errors.New("a file of the checkpoint before is gone")
		}
		return nil
	}))
}

// All nodes share a store, and the number of ranks changes.
func TestSharedStoreOtherRanks(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for _, n := range []int{3, 5} {
			cl := fourNodes(t).set("SCR_COPY_TYPE", "FILE", "SCR_FLUSH", "0", "SCR_CONF_FILE", "/p/conf")
			must(t, put(cl.fs, "/p/conf", []byte("STORE=/shared GROUP=WORLD COUNT=2\nCKPT=0 INTERVAL=1 TYPE=SINGLE STORE=/shared GROUP=NODE\n")))
			mkdirs(t, cl.fs, "/shared")
			cl.apart = apart
			must(t, cl.checkpoints(1, 2))
			cl.mustRestart(2)
			next := cl.on([]string{"node0", "node1", "node2", "node3", "node4"}[:n]...)
			k, err := next.restart()
			t.Logf("apart %v ranks %d: restarted from %d, %v", apart, n, k, err)
			if err != nil {
				t.Error(err)
			}
			if k == 0 {
				if k, err := cl.restart(); k != 2 {
					t.Errorf("lost for the run of as many ranks, too: %d %v", k, err)
				}
			}
		}
	}
}

// The name of a dataset may be any text, even a text that would be a path out of the prefix directory.
func TestAnyName(t *testing.T) {
	cl := fourNodes(t)
	for i, name := range []string{"../x", "/abs", "./x/"} {
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			must(t, s.Start(ctx, name, Checkpoint))
			at, err := s.Route(fileName(i+1, rank, 0))
			must(t, err)
			must(t, put(cl.fs, at, []byte(name)))
			return errors.Join(s.Complete(ctx, true), s.Close(ctx))
		}))
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			r, ok, err := s.HaveRestart(ctx)
			if !ok || r.Name != name {
				return fmt.Errorf("%q: %v %q %w", name, ok, r.Name, err)
			}
			return s.Close(ctx)
		}))
	}
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		if err := s.Start(ctx, "two\nlines", Checkpoint); !errors.Is(err, fault.ErrUsage) {
			return fmt.Errorf("Start: %w", err)
		}
		return nil
	}))
}
