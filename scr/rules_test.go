package scr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
)

// TestFallbackOlder makes a checkpoint current that is damaged, or that the application rejects. Only older checkpoints may
// then be offered.
func TestFallbackOlder(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for i, how := range []string{"damaged", "useless", "SCR_CURRENT damaged", "SCR_CURRENT useless"} {
			if !crashtest.Long() && apart != (i == 0 || i == 3) {
				continue
			}
			cl := fourNodes(t).set("SCR_FLUSH", "1")
			cl.apart = apart
			must(t, cl.checkpoints(1, 4))
			cl.lose("node0", "node1", "node2", "node3")
			if strings.HasPrefix(how, "SCR_CURRENT") {
				cl.set("SCR_CURRENT", "ckpt.3")
			} else {
				must(t, prefixdir.Open(cl.fs, testPrefix).Index.Update(context.Background(), func(x *prefixdir.Index) error { return x.SetCurrent("ckpt.3") }))
			}
			if strings.HasSuffix(how, "damaged") {
				flip(t, cl.fs, testPrefix+"/"+fileName(3, 2, 0), 3)
				cl.mustRestart(2)
				continue
			}
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				r, err := s.StartRestart(ctx)
				if err != nil || r.Name != "ckpt.3" {
					return fmt.Errorf("%s: %+v: %w", how, r, err)
				}
				if err := s.CompleteRestart(ctx, rank != 1); !errors.Is(err, ErrInvalid) {
					return err
				}
				if n, err := cl.read(ctx, s, rank); n != 2 || err != nil {
					t.Errorf("%s, apart %v: then %d was offered, %v", how, apart, n, err)
				}
				return nil
			})
		}
	}
}

// TestOneFileOfManyRanks lets several ranks write one file. If their bytes are equal, this is allowed. If they differ, Complete
// must fail on all ranks, because only one version could be flushed.
func TestOneFileOfManyRanks(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for i, nodes := range [][]string{{"node0", "node1", "node2", "node3"}, {"node0", "node0", "node1", "node1"}, {"node0", "node1", "node2", "node3"}} {
			cl := newCluster(t, nodes...).set("SCR_FLUSH", "1", "SCR_SET_SIZE", "2")
			cl.apart = apart
			if i == 2 {
				cl.set("SCR_CRC_ON_COPY", "0")
			}
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				must(t, cl.writeFile(ctx, s, "same", Checkpoint, "one/header", []byte("header")))
				err := cl.writeFile(ctx, s, "differ", Checkpoint, "two/header", fmt.Appendf(nil, "header %d", rank/2))
				if !errors.Is(err, fault.ErrUsage) || !strings.Contains(err.Error(), "two/header") {
					t.Errorf("apart %v, rank %d: %v", apart, rank, err)
				}
				return s.Close(ctx)
			})
			cl.lose(nodes...)
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				if r, err := s.StartRestart(ctx); err != nil || r.Name != "same" {
					return fmt.Errorf("%+v: %w", r, err)
				}
				name, err := s.Route("one/header")
				must(t, err)
				if b, err := vfs.ReadFile(cl.fs, name, 100); string(b) != "header" {
					t.Errorf("%q, %v", b, err)
				}
				return s.CompleteRestart(ctx, true)
			})
		}
	}
}

// TestContainerSize checks that a container size that would require millions of containers is rejected before a container is
// created.
func TestContainerSize(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "0", "SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", "1")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, cl.writeFile(ctx, s, "ckpt.1", Checkpoint, fmt.Sprint("big", rank), make([]byte, 300<<10)))
		if err := s.Flush(ctx, "ckpt.1"); !errors.Is(err, fault.ErrTooLarge) {
			t.Errorf("rank %d: %v", rank, err)
		}
		return s.c.Barrier(ctx)
	})
	for name := range tree(t, cl.fs, testPrefix) {
		if strings.Contains(name, "/ctr.") {
			t.Fatalf("%s was made", name)
		}
	}
}

// TestDamagedHalt checks that a halt file that was only half written does not end the run. It must be set aside with a warning.
func TestDamagedHalt(t *testing.T) {
	cl := fourNodes(t)
	cl.log = &bytes.Buffer{}
	name := testPrefix + "/.scr/halt.scr"
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n, call := range []func() error{
			func() error { _, _, err := s.ShouldExit(ctx); return err },
			func() error { _, err := s.NeedCheckpoint(ctx); return err },
			func() error { return cl.write(ctx, s, rank, 1) },
			func() error { return s.Close(ctx) },
		} {
			must(t, s.c.Barrier(ctx))
			if rank == 0 {
				must(t, put(cl.fs, name, []byte("\x95\x1f\xc3\xf5\x00\x01")))
			}
			if err := call(); err != nil {
				t.Errorf("call %d, rank %d: %v", n, rank, err)
			}
		}
		return nil
	})
	if !strings.Contains(cl.log.String(), "halt file is damaged") {
		t.Errorf("log: %s", cl.log)
	}
	if b, err := vfs.ReadFile(cl.fs, name+".damaged", 100); err != nil || len(b) != 6 {
		t.Errorf("%q, %v", b, err)
	}
}

// TestChecksumsOnDelete checks that with SCR_CRC_ON_DELETE=1 a dataset is compared with its checksums before any deletion.
func TestChecksumsOnDelete(t *testing.T) {
	for _, how := range []string{"room", "Delete"} {
		cl := fourNodes(t).set("SCR_FLUSH", "0", "SCR_CACHE_SIZE", "1", "SCR_CRC_ON_DELETE", "1")
		cl.log = &bytes.Buffer{}
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			must(t, cl.write(ctx, s, rank, 1))
			if rank == 2 {
				flip(t, cl.fs, "/nodes/node2/local/user1/scr.77/scr.dataset.1/rank_2.0.ckpt", 10)
			}
			if how == "Delete" {
				return s.Delete(ctx, "ckpt.1")
			}
			return cl.write(ctx, s, rank, 2)
		})
		if !strings.Contains(cl.log.String(), "is damaged") || !strings.Contains(cl.log.String(), "rank_2.0.ckpt") {
			t.Errorf("%s: %s", how, cl.log)
		}
	}
}

// TestLongNames uses names that are too long for the prefix and the suffix of an unfinished file. Route must reject them,
// because otherwise a rebuild would fail later. The longest allowed name must survive a rebuild.
func TestLongNames(t *testing.T) {
	cl, _ := diskCluster(t, "node0", "node0", "node1", "node1")
	cl.set("SCR_FLUSH", "0", "SCR_SET_SIZE", "2")
	long := func(rank, n int) string { return fmt.Sprintf("d/%d", rank) + strings.Repeat("n", n-1) }
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, s.Start(ctx, "ckpt.1", Checkpoint))
		if _, err := s.Route(long(rank, maxBase+1)); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%v", err)
		}
		name, err := s.Route(long(rank, maxBase))
		must(t, err)
		must(t, put(cl.fs, name, content(1, rank, 0)))
		return s.Complete(ctx, true)
	})
	for _, nodes := range [][]string{{"node1", "node1", "node0", "node0"}, {"node1", "node0", "node0"}} {
		next := cl.on(nodes...)
		each(t, next, func(ctx context.Context, s *Session, rank int) error {
			if _, err := s.StartRestart(ctx); err != nil {
				return err
			}
			name, err := s.Route(long(rank, maxBase))
			must(t, err)
			if b, err := vfs.ReadFile(cl.fs, name, 1<<20); err != nil || !bytes.Equal(b, content(1, rank, 0)) {
				t.Errorf("rank %d: %v", rank, err)
			}
			return s.CompleteRestart(ctx, true)
		})
	}
}

// TestSessionsAtOnce runs two sessions in one process at the same time. They have different prefix directories and jobs, but
// use the same nodes.
func TestSessionsAtOnce(t *testing.T) {
	base := fourNodes(t)
	var wg sync.WaitGroup
	for i, job := range []string{"77", "78", "79"} {
		cl := *base
		cl.env = map[string]string{}
		for k, v := range base.env {
			cl.env[k] = v
		}
		prefix := fmt.Sprint("/p/sim", i)
		mkdirs(t, cl.fs, prefix)
		for _, n := range cl.nodes {
			mkdirs(t, cl.fs, "/nodes/"+n+"/local")
		}
		cl.ready = true
		cl.set("SCR_JOB_ID", job, "SCR_PREFIX", prefix, "SCR_FLUSH", "2", "SCR_FLUSH_ASYNC", fmt.Sprint(i%2), "SCR_COPY_TYPE", []string{"XOR", "PARTNER", "RS"}[i])
		wg.Go(func() {
			for from := 1; from <= 7; from += 3 {
				err := cl.run(func(ctx context.Context, s *Session, rank int) error {
					if n, err := cl.read(ctx, s, rank); err != nil || n != from-1 {
						return fmt.Errorf("job %s restarted from %d, want %d: %w", job, n, from-1, err)
					}
					for n := from; n < from+3; n++ {
						must(t, cl.write(ctx, s, rank, n))
					}
					return s.Close(ctx)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestNegativePercent checks that a negative limit means no limit, and that background flushes work.
func TestNegativePercent(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", "1", "SCR_FLUSH_ASYNC_PERCENT", "-1")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, cl.write(ctx, s, rank, 1))
		return s.WaitFlush(ctx, "ckpt.1")
	})
}

// TestLogOfEnds checks that the log shows a closed run as successful and a dead run as failed.
func TestLogOfEnds(t *testing.T) {
	cl := fourNodes(t)
	run := func(from int, end bool) {
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			if err := cl.write(ctx, s, rank, from); err != nil || !end {
				return err
			}
			return s.Close(ctx)
		})
	}
	for n, want := range []int64{0, 0, 0, 1} {
		run(n+1, n != 2)
		l, err := runlog.ReadFile(cl.fs, testPrefix+"/.scr/log")
		must(t, err)
		if s := runlog.Analyze(l.Entries); s.Runs != int64(n+1) || s.Failures != want {
			t.Errorf("after %d runs: %+v, want %d failures", n+1, s, want)
		}
	}
}

// TestPrefixSizeFailed checks that failed checkpoints are not counted for SCR_PREFIX_SIZE.
func TestPrefixSizeFailed(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_PREFIX_SIZE", "2", "SCR_CACHE_SIZE", "1")
	dir := prefixdir.Open(cl.fs, testPrefix)
	must(t, cl.checkpoints(1, 2))
	must(t, dir.Index.Update(context.Background(), func(x *prefixdir.Index) error { return x.MarkFailed("ckpt.2", time.Unix(1e9, 0)) }))
	for n, want := range []string{3: "ckpt.3 ckpt.2 ckpt.1", 4: "ckpt.4 ckpt.3"} {
		if want == "" {
			continue
		}
		each(t, cl, func(ctx context.Context, s *Session, rank int) error { return cl.write(ctx, s, rank, n) })
		x, err := dir.Index.Read()
		must(t, err)
		var got []string
		for _, e := range x.Entries() {
			got = append(got, e.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("index: %v, want %s", got, want)
		}
	}
}
