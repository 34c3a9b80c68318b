package scr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// listedWhole returns the datasets that are complete according to index and summary. It returns an error if one of them has wrong
// bytes.
func listedWhole(fsys vfs.FS) (complete []string, err error) {
	d := prefixdir.Open(fsys, testPrefix)
	x, _, _, err := d.Index.Load()
	if err != nil {
		return nil, err
	}
	for _, e := range x.Entries() {
		p, err := d.Datasets.Locate(e)
		if !e.Complete || err != nil {
			continue
		}
		s, err := d.Datasets.ReadSummary(p)
		if err != nil {
			return nil, err
		}
		if !s.Complete {
			continue
		}
		m, err := d.Datasets.ReadMap(p)
		if err != nil {
			return nil, err
		}
		var other error
		for r, files := range m.Files {
			for _, f := range files {
				crc, size, err := vfs.SumFile(context.Background(), fsys, path.Join(p.Data, f.Path))
				if err != nil || size != f.Size || crc != f.CRC {
					other = fmt.Errorf("%s is listed as complete, and %s of rank %d is not what it was: %d bytes, %#x, %v", e.Name, f.Path, r, size, crc, err)
				}
			}
		}
		if other != nil {
			// If the summary marks the dataset as incomplete, a concurrent flush may write its files.
			if s, err := d.Datasets.ReadSummary(p); err != nil || s.Complete {
				return nil, errors.Join(other, err)
			}
			continue
		}
		complete = append(complete, e.Name)
	}
	return complete, nil
}

// overwrite writes a file without removing the old file first, as programs do that always write the same file.
func overwrite(fsys vfs.FS, name string, b []byte) error {
	f, err := fsys.OpenRW(name)
	if err != nil {
		return put(fsys, name, b)
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Truncate(int64(len(b)))
	}
	return errors.Join(err, f.Close())
}

// same takes checkpoint n. All checkpoints have the same file names.
func (cl *cluster) same(ctx context.Context, s *Session, rank, n int, flags Flags) error {
	if err := s.Start(ctx, fmt.Sprint("ckpt.", n), flags); err != nil {
		return err
	}
	for i := range cl.files {
		name, err := s.Route(fmt.Sprintf("state.%d.%d", rank, i))
		if err != nil {
			return errors.Join(err, s.Complete(ctx, false))
		}
		if err := overwrite(cl.fs, name, content(n, rank, i)); err != nil {
			return err
		}
	}
	return s.Complete(ctx, true)
}

// sameRestart reads the offered checkpoint, which has the same file names as all others. It returns its number, or 0 if there is
// none.
func (cl *cluster) sameRestart() (got int, err error) {
	err = cl.run(func(ctx context.Context, s *Session, rank int) error {
		r, ok, err := s.HaveRestart(ctx)
		if err != nil || !ok {
			return err
		}
		if _, err := s.StartRestart(ctx); err != nil {
			return err
		}
		n := 0
		if _, err := fmt.Sscanf(r.Name, "ckpt.%d", &n); err != nil {
			return err
		}
		for i := range cl.files {
			name, err := s.Route(fmt.Sprintf("state.%d.%d", rank, i))
			if err != nil {
				return err
			}
			b, err := vfs.ReadFile(cl.fs, name, 1<<20)
			if err != nil {
				return err
			}
			if !bytes.Equal(b, content(n, rank, i)) {
				return fmt.Errorf("checkpoint %d, rank %d, file %d: wrong bytes", n, rank, i)
			}
		}
		if rank == 0 {
			got = n
		}
		return s.CompleteRestart(ctx, true)
	})
	return got, err
}

// TestSameNamesCrash cuts the power before each operation of a checkpoint. The checkpoint is written directly or flushed, and has
// the file names of an older checkpoint in the prefix directory. Afterwards each dataset that is listed as complete must have its
// own bytes. The next run must find the older checkpoint until the newer one is whole, and then the newer one.
func TestSameNamesCrash(t *testing.T) {
	for _, bypass := range []string{"0", "1"} {
		t.Run("bypass "+bypass, func(t *testing.T) {
			base := newCluster(t, "node0", "node1").set("SCR_CACHE_BYPASS", bypass, "SCR_FLUSH", "1", "SCR_COPY_TYPE", "SINGLE")
			var told atomic.Int64 // newest checkpoint for which Complete returned nil on a rank
			take := func(cl *cluster, n int) error {
				return cl.run(func(ctx context.Context, s *Session, rank int) error {
					err := cl.same(ctx, s, rank, n, Checkpoint)
					if err == nil {
						told.Store(int64(n))
					}
					return err
				})
			}
			must(t, take(base, 1))
			start := base.fs.(*vfs.Mem)
			if all, err := listedWhole(start); err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			again := func(fsys vfs.FS, hook func(int, string) error) error {
				cl := *base
				cl.fs, cl.conf, cl.ready, cl.hook = fsys, start, true, hook
				return take(&cl, 2)
			}
			whole := start.CrashClone(vfs.CrashOptions{})
			must(t, again(whole, nil))
			if all, err := listedWhole(whole); err != nil || len(all) != 1 || all[0] != "ckpt.2" {
				t.Fatal(all, err)
			}
			x, err := prefixdir.Open(whole, testPrefix).Index.Read()
			must(t, err)
			if e, ok := x.Entry("ckpt.1"); !ok || e.Complete {
				t.Errorf("in the index: %+v %v", e, ok)
			}
			// Skip operations that change nothing, because a power loss after them leaves the same state.
			var started atomic.Bool
			sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Every: crashtest.Times(23, 1), Only: func(op vfs.Op) bool { return started.Load() && op.Kind.Changes() },
				Run: crashtest.One(func(fsys vfs.FS) error {
					started.Store(false)
					told.Store(1)
					return again(fsys, func(_ int, step string) error {
						if step == "start" {
							started.Store(true)
						}
						return nil
					})
				})}
			for f := range sc.Faults(t, crashtest.Dies(errKilled)) {
				n, m, least := f.N, f.Mem[0], int(told.Load())
				for seed := range crashtest.Times[int64](2, 3) {
					o := vfs.CrashOptions{}
					if seed > 0 {
						o.Rand = rand.New(rand.NewSource(seed))
					}
					left := m.CrashClone(o)
					if _, err := listedWhole(left); err != nil {
						t.Fatalf("operation %d, seed %d: %v", n, seed, err)
					}
					cl := *base
					cl.fs, cl.ready = left, true
					if bypass == "1" && n%2 == 0 { // the files in the prefix directory are enough
						cl.lose("node0", "node1")
						cl.ready = false
					}
					if got, err := cl.sameRestart(); err != nil || got < least {
						t.Fatalf("operation %d, seed %d: the next run begins at %d, want at least %d: %v", n, seed, got, least, err)
					}
					if err := take(&cl, 3); err != nil {
						t.Fatalf("operation %d, seed %d: the next checkpoint: %v", n, seed, err)
					}
					if all, err := listedWhole(left); err != nil || len(all) != 1 || all[0] != "ckpt.3" {
						t.Fatalf("operation %d, seed %d: %v %v", n, seed, all, err)
					}
				}
				if _, err := listedWhole(m); err != nil {
					t.Fatalf("operation %d: %v", n, err)
				}
			}
		})
	}
}

// TestSameNamesAsync checks consecutive background flushes on a rank. They must not write the files of a dataset that rank 0 is
// about to list. Rank 0 is delayed until rank 1 waits for it, or until rank 1 has written the files of the next checkpoint.
func TestSameNamesAsync(t *testing.T) {
	cl := newCluster(t, "node0", "node1").set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0", "SCR_CACHE_SIZE", "4")
	var maps, copies atomic.Int64
	waits := make(chan struct{})
	var once sync.Once
	cl.hook = func(rank int, step string) error {
		switch {
		case rank == 1 && step == "listed":
			if maps.Load() == 2 {
				once.Do(func() { close(waits) })
			}
		case rank == 0 && step == "map" && maps.Add(1) == 2:
			for {
				select {
				case <-waits:
					return nil
				case <-time.After(time.Millisecond):
				}
				b, err := vfs.ReadFile(cl.fs, testPrefix+"/state.1.0", 1<<20)
				if err == nil && bytes.Equal(b, content(3, 1, 0)) {
					return nil
				}
			}
		case rank == 0 && step == "copy" && copies.Add(1) == 3:
			if all, err := listedWhole(cl.fs); err != nil {
				t.Error(all, err)
			}
		}
		return nil
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 3; n++ {
			must(t, cl.same(ctx, s, rank, n, Checkpoint))
		}
		return s.WaitFlush(ctx, "")
	})
	if all, err := listedWhole(cl.fs); err != nil || len(all) != 1 || all[0] != "ckpt.3" {
		t.Error(all, err)
	}
}

// TestSameNamesOutput checks that output is not overwritten by datasets with other names. The error names the file and the
// dataset that owns it. A dataset with the same name replaces output.
func TestSameNamesOutput(t *testing.T) {
	for _, bypass := range []string{"0", "1"} {
		for _, second := range []Flags{Output, Checkpoint, Checkpoint | Output} {
			cl := newCluster(t, "node0", "node1").set("SCR_CACHE_BYPASS", bypass, "SCR_FLUSH", "1", "SCR_CACHE_SIZE", "4")
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				return cl.same(ctx, s, rank, 1, Output)
			})
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				err := cl.same(ctx, s, rank, 2, second)
				if !errors.Is(err, ErrExist) || !strings.Contains(err.Error(), "state.") || !strings.Contains(err.Error(), `dataset 1 "ckpt.1"`) {
					t.Errorf("bypass %s, flags %d: %v", bypass, second, err)
				}
				return nil
			})
			if all, err := listedWhole(cl.fs); err != nil || len(all) != 1 || all[0] != "ckpt.1" {
				t.Errorf("bypass %s, flags %d: %v %v", bypass, second, all, err)
			}
			cl.lose("node0", "node1")
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				return cl.same(ctx, s, rank, 1, second)
			})
			if all, err := listedWhole(cl.fs); err != nil || len(all) != 1 {
				t.Errorf("bypass %s, flags %d: replaced: %v %v", bypass, second, all, err)
			}
		}
	}
}

// TestSameNamesOlder checks that a cached checkpoint that is flushed late does not overwrite files of a newer checkpoint.
func TestSameNamesOlder(t *testing.T) {
	cl := newCluster(t, "node0", "node1").set("SCR_FLUSH", "2", "SCR_CACHE_SIZE", "4")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 2; n++ {
			must(t, cl.same(ctx, s, rank, n, Checkpoint))
		}
		if err := s.Flush(ctx, "ckpt.1"); !errors.Is(err, ErrExist) || !strings.Contains(err.Error(), "newer") {
			t.Errorf("%v", err)
		}
		return nil
	})
	if all, err := listedWhole(cl.fs); err != nil || len(all) != 1 || all[0] != "ckpt.2" {
		t.Error(all, err)
	}
}

// TestOverwrittenListed checks that overwritten checkpoints are not offered. They occur because SCR lists all checkpoints as
// complete, without checksums, even if a program uses the same file names in each.
func TestOverwrittenListed(t *testing.T) {
	for _, how := range []string{"SCR_FETCH", "SCR_FETCH_BYPASS", "SCR_GLOBAL_RESTART"} {
		cl := newCluster(t, "node0", "node1").set("SCR_FLUSH", "1", "SCR_CURRENT", "ckpt.2", how, "1")
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			for n := 1; n <= 3; n++ {
				must(t, cl.same(ctx, s, rank, n, Checkpoint))
			}
			return nil
		})
		d := prefixdir.Open(cl.fs, testPrefix)
		must(t, d.Index.Update(t.Context(), func(x *prefixdir.Index) error {
			for _, e := range x.Entries() {
				m, err := d.Datasets.ReadMap(d.Datasets.Place(e.ID))
				if err != nil {
					return err
				}
				err = d.Datasets.WriteMap(e.ID, m.Ranks, func(rank int) (files []prefixdir.File, _ error) {
					for _, f := range m.Files[rank] {
						files = append(files, prefixdir.File{Path: f.Path})
					}
					return files, nil
				})
				if err := errors.Join(err, d.Datasets.WriteSummary(e.Dataset, true), x.Add(e.Dataset, true)); err != nil {
					return err
				}
			}
			return nil
		}))
		cl.lose("node0", "node1")
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			if err := s.Current(ctx, "ckpt.1"); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "overwritten") {
				t.Errorf("%s: Current: %v", how, err)
			}
			if r, ok, err := s.HaveRestart(ctx); err != nil || ok {
				t.Errorf("%s: %+v is offered, %v", how, r, err)
			}
			return nil
		})
		delete(cl.env, "SCR_CURRENT")
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			if r, ok, err := s.HaveRestart(ctx); err != nil || !ok || r.Name != "ckpt.3" {
				t.Errorf("%s: %+v %v %v", how, r, ok, err)
			}
			return nil
		})
	}
}

// TestSameNamesKilled kills a run that always writes the same files, at any step of a checkpoint. If all files of this checkpoint
// were whole, the next run must continue from it, and otherwise from the previous checkpoint. This must hold even without the
// caches.
func TestSameNamesKilled(t *testing.T) {
	for step, want := range map[string]int{"route": 2, "complete": 2, "whole": 2, "rename": 3, "encode": 3, "commit": 3, "flush": 3, "summary": 3, "index": 3} {
		for _, ranks := range [][]string{{"node0", "node1"}, {"node0", "node1", "node2"}} {
			cl := newCluster(t, "node0", "node1").set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "0", "SCR_CACHE_SIZE", "2")
			k := &killer{step: step, n: map[string]int{"route": 3, "whole": 1, "rename": 2, "summary": 1, "index": 1}[step]}
			k.n = max(k.n, 1)
			err := cl.run(func(ctx context.Context, s *Session, rank int) error {
				for n := 1; n <= 3; n++ {
					if n == 3 {
						if err := s.c.Barrier(ctx); err != nil {
							return err
						}
						s.knobs.hook = func(step string) error { return k.hook(rank, step) }
					}
					if err := cl.same(ctx, s, rank, n, Checkpoint); err != nil {
						return err
					}
				}
				return nil
			})
			if !errors.Is(err, errKilled) {
				t.Fatalf("%s: %v", step, err)
			}
			if len(ranks) == 2 {
				defer func() {
					for name := range tree(t, cl.fs, testPrefix) {
						if prefixdir.IsHidden(name) {
							t.Errorf("%s: %s is left", step, name)
						}
					}
				}()
				if got, err := cl.sameRestart(); err != nil || got != want {
					t.Errorf("%s: the next run begins at %d, want %d: %v", step, got, want, err)
				}
				continue
			}
			cl.lose("node0", "node1")
			each(t, cl.on(ranks...), func(ctx context.Context, s *Session, rank int) error {
				if r, ok, err := s.HaveRestart(ctx); err != nil || !ok || r.Name != fmt.Sprint("ckpt.", want) {
					t.Errorf("%s: on 3 ranks: %+v %v %v", step, r, ok, err)
				}
				return nil
			})
		}
	}
}

// TestSameNamesRenameFails lets renames fail because the disk is full or defective. Neither dataset may be lost. No file of the
// newer dataset may be written to before it has its final name.
func TestSameNamesRenameFails(t *testing.T) {
	cl := newCluster(t, "node0", "node1").set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1")
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
		must(t, cl.same(ctx, s, rank, 1, Checkpoint))
		sick.Store(true)
		if err := cl.same(ctx, s, rank, 2, Checkpoint); !errors.Is(err, syscall.EIO) {
			t.Errorf("rank %d: %v", rank, err)
		}
		if err := s.Start(ctx, "ckpt.3", Checkpoint); !errors.Is(err, syscall.EIO) {
			t.Errorf("rank %d: Start: %v", rank, err)
		}
		must(t, s.c.Barrier(ctx))
		sick.Store(false)
		must(t, s.Start(ctx, "ckpt.3", Checkpoint))
		if all, err := listedWhole(mem); err != nil || len(all) != 1 || all[0] != "ckpt.2" {
			t.Errorf("rank %d: %v %v", rank, all, err)
		}
		if err := s.Complete(ctx, false); !errors.Is(err, ErrInvalid) {
			return err
		}
		r, ok, err := s.HaveRestart(ctx)
		if err != nil || !ok || r.Name != "ckpt.2" {
			t.Errorf("rank %d: %+v %v %v", rank, r, ok, err)
		}
		return nil
	})
	if got, err := cl.sameRestart(); err != nil || got != 2 {
		t.Error(got, err)
	}
}

// TestSameNamesRefused checks what is offered after the application rejects a checkpoint. No older checkpoint with the same files
// may be offered, not even from the caches of the same run.
func TestSameNamesRefused(t *testing.T) {
	cl := newCluster(t, "node0", "node1").set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "0", "SCR_CACHE_SIZE", "4")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 2; n++ {
			must(t, cl.same(ctx, s, rank, n, Checkpoint))
		}
		if r, err := s.StartRestart(ctx); err != nil || r.Name != "ckpt.2" {
			return fmt.Errorf("%+v: %w", r, err)
		}
		if err := s.CompleteRestart(ctx, false); !errors.Is(err, ErrInvalid) {
			return err
		}
		if r, ok, err := s.HaveRestart(ctx); err != nil || ok {
			t.Errorf("%+v is offered, %v", r, err)
		}
		return nil
	})
}
