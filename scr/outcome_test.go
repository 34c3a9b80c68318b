package scr

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/vfs"
)

// What one rank meets, all ranks hear of, whether or not they share memory.

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
			if err := s.Start(ctx, "ckpt.3", Checkpoint); err != nil {
				return err
			}
			if err := s.Complete(ctx, rank != 2); !errors.Is(err, ErrInvalid) {
				return fmt.Errorf("Complete, rank %d, apart %v: %w", rank, apart, err)
			}
			return s.Close(ctx)
		}))
	}
}

// What is offered is the newest checkpoint, also if one was offered before it was written.
func TestOfferIsNotOutdated(t *testing.T) {
	cl := fourNodes(t)
	must(t, cl.checkpoints(1, 2))
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		if _, _, err := s.HaveRestart(ctx); err != nil {
			return err
		}
		for n := 3; n <= 4; n++ {
			if err := cl.write(ctx, s, rank, n); err != nil {
				return err
			}
		}
		n, err := cl.read(ctx, s, rank)
		if err == nil && n != 4 {
			err = fmt.Errorf("restarted from %d, want 4", n)
		}
		return err
	}))
}

// A checkpoint that was gone back behind is written again under its name.
func TestBypassWritesNameAgain(t *testing.T) {
	for _, async := range []string{"0", "1"} {
		cl := fourNodes(t).set("SCR_CACHE_BYPASS", "1", "SCR_FLUSH", "1", "SCR_FLUSH_ASYNC", async)
		must(t, cl.checkpoints(1, 3))
		must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
			if err := s.Current(ctx, "ckpt.2"); err != nil {
				return err
			}
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

// An application that always writes the same files, with a window of datasets in the prefix directory.
func TestSlideKeepsFilesOfNewer(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_PREFIX_SIZE", "1")
	cl.files = 1
	must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
		for n := 1; n <= 3; n++ {
			if err := s.Start(ctx, fmt.Sprintf("ckpt.%d", n), Checkpoint); err != nil {
				return err
			}
			name, err := s.Route(fmt.Sprintf("state.%d", rank))
			if err != nil {
				return err
			}
			if err := put(cl.fs, name, content(n, rank, 0)); err != nil {
				return err
			}
			if err := s.Complete(ctx, true); err != nil {
				return err
			}
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
		if err != nil {
			return err
		}
		b, err := vfs.ReadFile(cl.fs, name, 1<<20)
		if err == nil && string(b) != string(content(3, rank, 0)) {
			err = errors.New("wrong bytes")
		}
		return err
	}))
}

// A checkpoint of the prefix directory that turns out to be damaged must not have cost the one in the caches.
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

// One rank finds a damaged file in its cache, another one cannot write: all must come to the same end.
func TestFlushMixedErrors(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "0")
	cl.hook = func(rank int, step string) error { return nil }
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	must(t, cl.run(func(_ context.Context, s *Session, rank int) error {
		if err := cl.write(ctx, s, rank, 1); err != nil {
			return err
		}
		if rank == 2 {
			f := s.cached[0].maps.Files()[0]
			flip(t, cl.fs, s.real(s.cached[0], f.Name), 5)
		}
		if rank == 1 {
			f := s.cached[0].maps.Files()[0]
			must(t, cl.fs.MkdirAll(f.Meta.Path+"/"+f.Meta.Name)) // in the way
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
