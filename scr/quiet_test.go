package scr

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
)

// TestRestartReadsOnce checks that HaveRestart finds out only once that there is no checkpoint, and that CompleteRestart leaves the
// index alone if it already has the checkpoint as current.
func TestRestartReadsOnce(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error { return nil })
	var opened atomic.Int64
	cl.fs = vfs.NewFault(cl.fs, func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen && strings.HasPrefix(op.Name, testPrefix+"/.scr/index") {
			opened.Add(1)
		}
		return nil
	})
	reads := func(s *Session, ctx context.Context, want int64, call func() error) {
		t.Helper()
		must(t, s.c.Barrier(ctx))
		before := opened.Load()
		must(t, s.c.Barrier(ctx))
		must(t, call())
		must(t, s.c.Barrier(ctx))
		if n := opened.Load() - before; n != want {
			t.Errorf("the index was opened %d times, want %d", n, want)
		}
		must(t, s.c.Barrier(ctx))
	}
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		have := func() error { _, _, err := s.HaveRestart(ctx); return err }
		reads(s, ctx, 1, have)
		reads(s, ctx, 0, have)
		must(t, cl.write(ctx, s, rank, 1))
		reads(s, ctx, 1, have)
		_, err := s.StartRestart(ctx)
		must(t, err)
		reads(s, ctx, 0, func() error { return s.CompleteRestart(ctx, true) })
		return nil
	})
}

// TestBypassFewOperations counts operations of the second checkpoint. Syncs of the prefix directory itself are not counted, because
// their number depends on the ranks that make a folder at the same time.
func TestBypassFewOperations(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1")
	var counts [7]atomic.Int64
	cl.fs = vfs.NewFault(cl.fs, func(op vfs.Op) error {
		inPrefix, inCache := strings.HasPrefix(op.Name, testPrefix+"/"), strings.Contains(op.Name, "/local/")
		for i, is := range []bool{
			op.Kind == vfs.OpSyncDir && inPrefix,
			op.Kind == vfs.OpSyncDir && inCache,
			op.Kind == vfs.OpRename && inCache,
			op.Kind == vfs.OpReadDir && inPrefix,
			op.Kind == vfs.OpOpen && inCache && strings.HasSuffix(op.Name, cachedir.CatalogName),
			op.Kind == vfs.OpRename && strings.HasSuffix(op.New, "/flush.scr"),
			op.Kind == vfs.OpRename && strings.Contains(op.New, "/filemap_"),
		} {
			if is {
				counts[i].Add(1)
			}
		}
		return nil
	})
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		must(t, cl.write(ctx, s, rank, 1))
		must(t, s.c.Barrier(ctx))
		for i := range counts {
			counts[i].Store(0)
		}
		must(t, s.c.Barrier(ctx))
		must(t, cl.write(ctx, s, rank, 2))
		return nil
	})
	for i, want := range []int64{23, 32, 32, 0, 0, 1, 4} {
		what := []string{"syncs of folders in the prefix directory", "syncs of folders in the caches", "renames in the caches",
			"lists of folders in the prefix directory", "reads of catalogues", "writes of the flush file", "replaced file maps"}[i]
		if n := counts[i].Load(); n != want {
			t.Errorf("%d %s, want %d", n, what, want)
		}
	}
}
