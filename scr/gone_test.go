package scr

import (
	"context"
	"errors"
	"fmt"
	"testing"

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
