package scr

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestBypassFlippedByte: with bypass the files are in the prefix directory alone, and the caches know what should be in them: a byte
// that is another one is found, whether or not the caches are still there.
func TestBypassFlippedByte(t *testing.T) {
	for _, packed := range []bool{false, true} {
		for _, flush := range []string{"1", "0"} {
			cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", flush)
			cl.opts = func(c *Config) { c.Packed = packed }
			must(t, cl.checkpoints(1, 3))
			cl.mustRestart(3)
			flip(t, cl.fs, testPrefix+"/"+fileName(3, 2, 0), 100)
			cl.mustRestart(2)
			cl.lose("node1")
			cl.mustRestart(2)
		}
	}
}

// TestBypassFlushOfDamage: a byte that changes between Complete and a later flush of the file's record does not become right by it.
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

// TestBypassSameNames: a program that writes the same files each time has the bytes of the last checkpoint alone, and is not given
// them for those of an earlier one.
func TestBypassSameNames(t *testing.T) {
	cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1")
	each(t, cl, func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 2; n++ {
			if err := cl.writeFile(ctx, s, fmt.Sprint("ckpt.", n), Checkpoint, fmt.Sprint("state", rank), content(n, rank, 0)); err != nil {
				return err
			}
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
