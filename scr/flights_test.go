package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// writeFile writes a dataset with one file for each rank.
func (cl *cluster) writeFile(ctx context.Context, s *Session, dataset string, f Flags, file string, b []byte) error {
	if err := s.Start(ctx, dataset, f); err != nil {
		return err
	}
	name, err := s.Route(file)
	if err != nil {
		return err
	}
	if err := put(cl.fs, name, b); err != nil {
		return err
	}
	return s.Complete(ctx, true)
}

// refuse lets renames in a folder of the prefix directory fail while the returned flag is set.
func (cl *cluster) refuse(dir string) *atomic.Bool {
	bad := &atomic.Bool{}
	bad.Store(true)
	under := cl.fs
	cl.conf = under
	cl.fs = vfs.NewFault(under, func(op vfs.Op) error {
		if bad.Load() && op.Kind == vfs.OpRename && strings.HasPrefix(op.New, testPrefix+"/"+dir+"/") {
			return fs.ErrPermission
		}
		return nil
	})
	return bad
}

// landed waits until the flush file shows that the flush of a dataset has ended.
func (cl *cluster) landed(ctx context.Context, s *Session, id int) error {
	if s.c.Rank() == 0 {
		for dir := prefixdir.Open(cl.fs, testPrefix); ; time.Sleep(time.Millisecond) {
			f, err := dir.Flush.Read()
			if err != nil {
				return err
			}
			if !f.Is(id, prefixdir.Flushing) {
				break
			}
		}
	}
	return s.c.Barrier(ctx)
}

// TestOutputKept checks that output stays in the caches until it is in the prefix directory, even if its background flush failed or if the run died
// before the flush.
func TestOutputKept(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for _, how := range []string{"failed", "failed, no room", "killed", "closed"} {
			t.Run(strings.ReplaceAll(fmt.Sprintf("%s/apart %v", how, apart), " ", "_"), func(t *testing.T) {
				cl := fourNodes(t).set("SCR_CACHE_SIZE", "1", "SCR_FLUSH", "0", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0")
				cl.apart = apart
				bad := cl.refuse("out")
				file := func(rank int) string { return fmt.Sprintf("out/rank%d", rank) }
				if how == "killed" {
					k := &killer{step: "async", n: 1}
					cl.hook = k.hook
				}
				err := cl.run(func(ctx context.Context, s *Session, rank int) error {
					if err := cl.writeFile(ctx, s, "out", Output, file(rank), content(1, rank, 0)); err != nil {
						return err
					}
					if err := cl.landed(ctx, s, 1); err != nil {
						return err
					}
					if how == "failed, no room" {
						if err := s.Start(ctx, "ckpt.1", Checkpoint); !errors.Is(err, fs.ErrPermission) {
							t.Errorf("rank %d: the only copy of output makes room: %v", rank, err)
						}
						if d := s.cache.find("out"); d == nil || !d.usable {
							t.Errorf("rank %d: output is gone", rank)
						}
					}
					if err := s.c.Barrier(ctx); err != nil {
						return err
					}
					bad.Store(false)
					if how == "closed" {
						return s.Close(ctx)
					}
					return cl.write(ctx, s, rank, 1)
				})
				if how == "killed" {
					if !errors.Is(err, errKilled) {
						t.Fatalf("the run was not killed: %v", err)
					}
					cl.hook = nil
					bad.Store(false)
					err = cl.run(func(ctx context.Context, s *Session, rank int) error { return cl.write(ctx, s, rank, 1) })
				}
				must(t, err)
				for rank := range 4 {
					b, err := vfs.ReadFile(cl.fs, testPrefix+"/"+file(rank), 1<<20)
					if err != nil || string(b) != string(content(1, rank, 0)) {
						t.Errorf("output of rank %d: %v", rank, err)
					}
				}
				x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
				must(t, err)
				if e, ok := x.Entry("out"); !ok || !e.Complete {
					t.Errorf("%+v %v", e, ok)
				}
			})
		}
	}
}

// TestFlightsInTurn checks that background flushes run one after the other. If an application always writes the same files, the files of the last
// dataset must remain. All flushes must share the bandwidth limit.
func TestFlightsInTurn(t *testing.T) {
	for _, apart := range []bool{false, true} {
		cl := fourNodes(t).set("SCR_CACHE_SIZE", "3", "SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0")
		cl.apart = apart
		gate := make(chan struct{})
		var mu sync.Mutex
		copies := map[int]int{}
		sessions := map[int]*Session{}
		cl.hook = func(rank int, step string) error {
			if step != "copy" {
				return nil
			}
			mu.Lock()
			copies[rank]++
			n, s := copies[rank], sessions[rank]
			mu.Unlock()
			if n == 1 {
				<-gate
				return nil
			}
			select {
			case <-s.flush.flights[0].task.Done():
			default:
				t.Errorf("rank %d copies two datasets at once", rank)
			}
			return nil
		}
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			mu.Lock()
			sessions[rank] = s
			mu.Unlock()
			file := fmt.Sprintf("state.%d", rank)
			for n := 1; n <= 2; n++ {
				// SCR_CACHE_SIZE is 3, so that no file of the first flight is deleted from the cache before the second flight copies.
				must(t, s.Start(ctx, fmt.Sprintf("ckpt.%d", n), Checkpoint))
				name, err := s.Route(file)
				must(t, err)
				must(t, put(cl.fs, name, content(n, rank, 0)))
				must(t, s.Complete(ctx, true))
			}
			must(t, s.c.Barrier(ctx))
			if rank == 0 {
				close(gate)
			}
			must(t, cl.landed(ctx, s, 2))
			return s.WaitFlush(ctx, "")
		})
		for rank := range 4 {
			b, err := vfs.ReadFile(cl.fs, fmt.Sprintf("%s/state.%d", testPrefix, rank), 1<<20)
			if err != nil || string(b) != string(content(2, rank, 0)) {
				t.Errorf("apart %v, rank %d: the file is not that of the last dataset: %v", apart, rank, err)
			}
		}
	}
}

// TestFlightAbandoned gives up a dataset during its flush. The dataset must not be listed as whole, and the copying must stop.
func TestFlightAbandoned(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for _, how := range []string{"invalid", "older"} {
			cl := fourNodes(t).set("SCR_FLUSH", "2", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "1") // one byte per second
			cl.apart = apart
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				for n := 1; n <= 2; n++ {
					must(t, cl.write(ctx, s, rank, n))
				}
				if len(s.flush.flights) != 1 {
					t.Fatalf("%d flushes are under way", len(s.flush.flights))
				}
				if how == "older" {
					must(t, s.Current(ctx, "ckpt.1"))
				} else {
					if _, err := s.StartRestart(ctx); err != nil {
						return err
					}
					if err := s.CompleteRestart(ctx, rank != 2); !errors.Is(err, ErrInvalid) {
						return fmt.Errorf("rank %d: %w", rank, err)
					}
				}
				if s.cache.find("ckpt.2") != nil || len(s.flush.flights) != 0 {
					t.Errorf("%s, rank %d: the flush of what is gone goes on", how, rank)
				}
				if n, err := cl.read(ctx, s, rank); n != 1 || err != nil {
					t.Errorf("%s: restarted from %d, %v", how, n, err)
				}
				return s.Close(ctx)
			})
			x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
			must(t, err)
			if e, ok := x.Entry("ckpt.2"); ok && e.Complete || x.Current() != "ckpt.1" {
				t.Errorf("%s: current %q, %+v", how, x.Current(), e)
			}
		}
	}
}

// TestFlightErrorKept checks that a call that waits for a flush gets the error of the flush, even if another call has already logged the error.
func TestFlightErrorKept(t *testing.T) {
	for _, apart := range []bool{false, true} {
		cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0")
		cl.apart = apart
		bad := cl.refuse("ckpt.1")
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			must(t, cl.write(ctx, s, rank, 1))
			must(t, cl.landed(ctx, s, 1))
			must(t, cl.write(ctx, s, rank, 2))
			if err := s.WaitFlush(ctx, "ckpt.1"); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("apart %v, rank %d: %v", apart, rank, err)
			}
			if err := s.WaitFlush(ctx, ""); err != nil {
				t.Errorf("apart %v, rank %d: told again: %v", apart, rank, err)
			}
			bad.Store(false)
			must(t, s.Flush(ctx, "ckpt.1"))
			return s.Close(ctx)
		})
	}
}

// TestDropWaits checks that a dataset that is dropped during its flush is not listed again when the flush ends.
func TestDropWaits(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0")
	gate := make(chan struct{})
	cl.hook = func(rank int, step string) error {
		if step == "map" {
			<-gate
		}
		return nil
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, cl.write(ctx, s, rank, 1))
		if rank == 0 {
			go close(gate)
		}
		must(t, s.Drop(ctx, "ckpt.1"))
		return s.WaitFlush(ctx, "")
	})
	x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
	must(t, err)
	if e, ok := x.Entry("ckpt.1"); ok {
		t.Errorf("%+v", e)
	}
}

// TestRoomWaits checks that a dataset whose flush has begun is in the prefix directory before it is deleted to make room.
func TestRoomWaits(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_SIZE", "1", "SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_BW", "0")
	gate := make(chan struct{})
	var starts atomic.Int64
	dir := prefixdir.Open(cl.fs, testPrefix)
	cl.hook = func(rank int, step string) error {
		switch step {
		case "copy":
			<-gate
		case "start":
			if starts.Add(1) == 8 { // all ranks have begun the second flush
				close(gate)
			}
		case "delete":
			if x, err := dir.Index.Read(); err != nil {
				t.Error(err)
			} else if e, ok := x.Entry("ckpt.1"); !ok || !e.Complete {
				t.Errorf("rank %d deletes what is not flushed", rank)
			}
		}
		return nil
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 2; n++ {
			must(t, cl.write(ctx, s, rank, n))
		}
		return nil
	})
}
