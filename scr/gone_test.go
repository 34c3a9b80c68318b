package scr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// TestGone removes files or metadata of a checkpoint that is listed as complete. The checkpoint must not be offered, must
// not count for SCR_PREFIX_SIZE, and must be flushed again from the caches.
func TestGone(t *testing.T) {
	for _, what := range []string{"ckpt.3", ".scr/scr.dataset.3"} {
		t.Run(what, func(t *testing.T) {
			cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_CACHE_SIZE", "1")
			must(t, cl.checkpoints(1, 3))
			removeAll(t, cl.fs, testPrefix+"/"+what)
			each(t, cl, func(ctx context.Context, s *Session, rank int) error { // the caches have the checkpoint
				if err := s.Flush(ctx, "ckpt.3"); err != nil {
					return err
				}
				return s.Close(ctx)
			})
			x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
			must(t, err)
			e, _ := x.Entry("ckpt.3")
			if gone, err := prefixdir.Open(cl.fs, testPrefix).Presence().Of(e); !e.Complete || gone != nil || err != nil {
				t.Errorf("flushed again: %+v %v %v", e, gone, err)
			}
			cl.lose("node0", "node1", "node2", "node3")
			removeAll(t, cl.fs, testPrefix+"/"+what)
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				if err := s.Current(ctx, "ckpt.3"); !errors.Is(err, ErrMissing) {
					return fmt.Errorf("current: %v", err)
				}
				return s.Close(ctx)
			})
			cl.mustRestart(2)
		})
	}
}

// TestGoneSlides checks that no whole checkpoint is deleted in favour of a checkpoint with missing files.
func TestGoneSlides(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_PREFIX_SIZE", "2")
	must(t, cl.checkpoints(1, 2))
	removeAll(t, cl.fs, testPrefix+"/ckpt.2")
	must(t, cl.checkpoints(3, 3))
	x, err := prefixdir.Open(cl.fs, testPrefix).Index.Read()
	must(t, err)
	if _, ok := x.Entry("ckpt.1"); !ok || x.Current() != "ckpt.3" {
		t.Errorf("left: %+v", x.Entries())
	}
}

// TestDeleteUnlisted deletes or drops a checkpoint written with bypass that could not be listed. It must not be listed later.
func TestDeleteUnlisted(t *testing.T) {
	for _, give := range []func(s *Session, ctx context.Context, name string) error{(*Session).Delete, (*Session).Drop} {
		cl := newCluster(t, "node0", "node1").set("SCR_CACHE_BYPASS", "1")
		var sick atomic.Bool
		mem := cl.fs
		cl.conf, cl.fs = mem, vfs.NewFault(mem, func(op vfs.Op) error {
			if sick.Load() && op.Kind == vfs.OpRename && strings.HasSuffix(op.New, "/index.scr") {
				return syscall.EIO
			}
			return nil
		})
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			sick.Store(true)
			if err := cl.write(ctx, s, rank, 1); !errors.Is(err, syscall.EIO) {
				t.Errorf("rank %d: %v", rank, err)
			}
			must(t, s.c.Barrier(ctx))
			sick.Store(false)
			must(t, s.c.Barrier(ctx))
			must(t, give(s, ctx, "ckpt.1"))
			return cl.write(ctx, s, rank, 2)
		})
		if all, err := listedWhole(mem); err != nil || len(all) != 1 || all[0] != "ckpt.2" {
			t.Error(all, err)
		}
	}
}
