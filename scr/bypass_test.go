package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/salvage"
)

// TestBypassFlippedByte checks that a changed byte of a file written with bypass is found. The file exists only in the prefix
// directory. Its checksum exists only in the caches. The test also loses the caches.
func TestBypassFlippedByte(t *testing.T) {
	for _, flush := range []string{"1", "0"} {
		cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", flush)
		must(t, cl.checkpoints(1, 3))
		cl.mustRestart(3)
		flip(t, cl.fs, testPrefix+"/"+fileName(3, 2, 0), 100)
		cl.mustRestart(2)
		cl.lose("node1")
		cl.mustRestart(2)
	}
}

// TestBypassFlushOfDamage changes a byte after Complete and before a later flush of the dataset's record. The flush must not accept
// the changed byte.
func TestBypassFlushOfDamage(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1")
	must(t, cl.checkpoints(1, 1))
	k := &killer{step: "flush", n: 1}
	cl.hook = k.hook
	if err := cl.checkpoints(2, 2); !errors.Is(err, errKilled) {
		t.Fatalf("the run was not killed: %v", err)
	}
	cl.hook = nil
	flip(t, cl.fs, testPrefix+"/"+fileName(2, 1, 0), 100)
	cl.mustRestart(1)
	cl.set("SCR_FLUSH_ON_RESTART", "1").mustRestart(1)
	cl.lose("node0", "node1", "node2", "node3")
	cl.mustRestart(1)
}

// TestBypassSameNames checks a program that uses the same file names in each checkpoint. Only the bytes of the last checkpoint are
// kept. They must not be accepted as the bytes of an earlier checkpoint.
func TestBypassSameNames(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 2; n++ {
			must(t, cl.writeFile(ctx, s, fmt.Sprint("ckpt.", n), Checkpoint, fmt.Sprint("state", rank), content(n, rank, 0)))
		}
		return nil
	})
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if r, err := s.StartRestart(ctx); err != nil || r.Name != "ckpt.2" {
			return fmt.Errorf("%+v: %w", r, err)
		}
		if err := s.CompleteRestart(ctx, false); !errors.Is(err, ErrInvalid) {
			return err
		}
		r, ok, err := s.HaveRestart(ctx)
		if ok {
			t.Errorf("%s is offered, of which no file is left", r.Name)
		}
		return err
	})
}

// TestBypassDurable checks that files listed by Complete are on disk, even if the program has not synced them.
func TestBypassDurable(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, s.Start(ctx, "ckpt.1", Checkpoint))
		for i := range cl.files {
			name, err := s.Route(fileName(1, rank, i))
			must(t, err)
			f, err := cl.fs.Create(name)
			must(t, err)
			_, err = f.WriteAt(content(1, rank, i), 0)
			must(t, errors.Join(err, f.Close()))
		}
		return s.Complete(ctx, true)
	})
	after := *cl
	after.fs = cl.fs.(*vfs.Mem).CrashClone(vfs.CrashOptions{})
	if all, err := listedWhole(after.fs); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
	after.mustRestart(1)
	after.lose("node0", "node1", "node2", "node3")
	after.mustRestart(1)
}

// TestBypassFileVanishes removes a file before Complete gives it its final name. Complete must not accept the dataset.
func TestBypassFileVanishes(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1")
	cl.hook = func(rank int, step string) error {
		if rank == 2 && step == "rename" {
			return cl.fs.Remove(prefixdir.Hidden(testPrefix + "/" + fileName(1, 2, 0)))
		}
		return nil
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := cl.write(ctx, s, rank, 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("rank %d: %v, want an error that a file is missing", rank, err)
		}
		return nil
	})
}

// sameKilled takes two checkpoints with the same file names in two runs, and kills the second run at a step of Complete.
func (cl *cluster) sameKilled(t *testing.T, between func(), step string) {
	take := func(n int) error {
		return cl.run(func(ctx context.Context, s *Session, rank int) error { return cl.same(ctx, s, rank, n, Checkpoint) })
	}
	must(t, take(1))
	between()
	k := &killer{step: step, n: 1}
	cl.hook = k.hook
	if err := take(2); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	cl.hook = nil
}

// TestBypassPostrun kills a run after all files of a checkpoint are whole. Commands that reach the nodes only through other commands
// must list the checkpoint, even if the flush file does not have it.
func TestBypassPostrun(t *testing.T) {
	for _, step := range []string{"rename", "encode", "flush", "index", "summary"} {
		cl := newCluster(t, "node0", "node1").set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "0")
		cl.sameKilled(t, func() {}, step)
		var nodes []salvage.Node
		for _, n := range cl.nodes {
			nodes = append(nodes, salvage.Node{Name: n, FS: vfs.NewBind(cl.fs, []vfs.Bind{{At: "/local", To: "/nodes/" + n + "/local"}}), Catalog: "/local/user1/scr.77/" + cachedir.CatalogName})
		}
		rep, err := salvage.Run(t.Context(), salvage.RunOptions{Prefix: prefixdir.Open(cl.fs, testPrefix), Nodes: nodes, Scavenge: salvage.Scavenge})
		must(t, err)
		if all, err := listedWhole(cl.fs); err != nil || len(all) != 1 || all[0] != "ckpt.2" || rep.Current != "ckpt.2" {
			t.Errorf("%s: %v, current %q, %v", step, all, rep.Current, err)
		}
	}
}

// TestBypassKilledAtMap kills a run after the map of a checkpoint is written, and before the checkpoint is recorded as whole. SCR wrote
// the older checkpoint, so that it has no checksums, and the file names are the same. The next runs must offer the older checkpoint.
func TestBypassKilledAtMap(t *testing.T) {
	cl := newCluster(t, "node0", "node1").set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "0")
	var dead atomic.Bool
	mem := cl.fs
	cl.conf, cl.fs = mem, vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && strings.HasSuffix(op.New, "scr.dataset.2/summary.scr") {
			dead.Store(true)
		}
		if dead.Load() {
			return errKilled
		}
		return nil
	})
	cl.sameKilled(t, func() {
		d := &prefixdir.Open(mem, testPrefix).Datasets
		m, err := d.ReadMap(d.Place(1))
		must(t, err)
		must(t, d.WriteMap(1, 2, func(rank int) ([]prefixdir.File, error) {
			for i := range m.Files[rank] {
				m.Files[rank][i].HasCRC = false
			}
			return m.Files[rank], nil
		}))
		cl.lose("node0", "node1")
	}, "")
	cl.fs = mem
	for range 2 {
		if got, err := cl.sameRestart(); err != nil || got != 1 {
			t.Errorf("restarted from %d: %v", got, err)
		}
	}
}

// TestBypassFlushAgain repeats a failed flush. A file that has changed or was truncated in between must not be listed as correct.
func TestBypassFlushAgain(t *testing.T) {
	bypassFlushAgain(t, "CRC-32", ErrChecksum, func(fsys vfs.FS, name string) { flip(t, fsys, name, 100) })
	bypassFlushAgain(t, "size 100, want", ErrCorrupt, func(fsys vfs.FS, name string) {
		f, err := fsys.OpenRW(name)
		must(t, err)
		must(t, errors.Join(f.Truncate(100), f.Close()))
	})
}

func bypassFlushAgain(t *testing.T, says string, class error, hurt func(fsys vfs.FS, name string)) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1")
	mem := cl.fs
	for _, n := range cl.nodes {
		mkdirs(t, mem, "/nodes/"+n+"/local")
	}
	cl.ready, cl.conf = true, mem
	var sick, listing atomic.Bool
	sick.Store(true)
	cl.hook = func(_ int, step string) error {
		listing.Store(listing.Load() || step == "index")
		return nil
	}
	cl.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		if sick.Load() && listing.Load() && op.Kind == vfs.OpRename && strings.HasSuffix(op.New, "/index.scr") {
			return syscall.EIO
		}
		return nil
	})
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		if err := cl.write(ctx, s, rank, 1); err == nil {
			t.Error("the flush was made")
		}
		must(t, s.c.Barrier(ctx))
		if rank == 0 {
			sick.Store(false)
			hurt(mem, testPrefix+"/"+fileName(1, 2, 0))
		}
		must(t, s.c.Barrier(ctx))
		if err := s.Flush(ctx, "ckpt.1"); !errors.Is(err, class) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v", err)
		}
		return nil
	})
	if all, err := listedWhole(mem); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
}

// TestInPlaceFlippedByte checks that a restart in place compares every byte with its checksum.
func TestInPlaceFlippedByte(t *testing.T) {
	for _, how := range []string{"SCR_FETCH_BYPASS", "SCR_GLOBAL_RESTART"} {
		for _, bypass := range []string{"0", "1"} {
			cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_CACHE_BYPASS", bypass)
			must(t, cl.checkpoints(1, 2))
			cl.lose("node0", "node1", "node2", "node3")
			cl.set(how, "1").mustRestart(2)
			flip(t, cl.fs, testPrefix+"/"+fileName(2, 3, 0), 100)
			cl.mustRestart(1)
		}
	}
}

// TestBypassOwnNames checks that a dataset with file names of its own reads nothing of earlier datasets, however many there are.
func TestBypassOwnNames(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1")
	must(t, cl.checkpoints(1, 3))
	var older atomic.Int64
	cl.hook = func(_ int, step string) error {
		if step == "start" {
			older.Store(0)
		}
		return nil
	}
	cl.fs = vfs.NewFault(cl.fs, func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen && strings.HasPrefix(op.Name, testPrefix+"/.scr/scr.dataset.") && !strings.Contains(op.Name, "dataset.4/") {
			older.Add(1)
		}
		return nil
	})
	must(t, cl.checkpoints(4, 4))
	if n := older.Load(); n != 0 {
		t.Errorf("%d files of older datasets were read", n)
	}
}
