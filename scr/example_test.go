package scr_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"blobio/comm"
	"blobio/internal/scr/config"
	"blobio/scr"
)

// Three ranks on three nodes take a checkpoint and die. One node is lost with its cache. The next run rebuilds the node's
// files, restarts and succeeds. Afterwards the checkpoint is in the prefix directory.
func Example() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	prefix := filepath.Join(tmp, "prefix")
	if err := os.Mkdir(prefix, 0o700); err != nil {
		log.Fatal(err)
	}
	node := func(rank int) string { return filepath.Join(tmp, fmt.Sprint("node", rank)) }

	run := func(f func(ctx context.Context, s *scr.Session, file string, rank int) error) error {
		return comm.Run(context.Background(), 3, nil, func(ctx context.Context, c comm.Comm) error {
			p, err := config.Load(config.Sources{Dir: prefix, Environ: []string{"SCR_USER_NAME=user", "SCR_JOB_ID=1",
				"SCR_CNTL_BASE=/cntl", "SCR_CACHE_BASE=/cache", "SCR_COPY_TYPE=XOR", "SCR_SET_SIZE=3", "SCR_CACHE_BYPASS=0"}})
			if err != nil {
				return err
			}
			s, err := scr.Open(ctx, c, &scr.Config{Params: p, Dir: prefix, Node: fmt.Sprint("node", c.Rank()), NodeRoot: node(c.Rank()),
				Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err != nil {
				return err
			}
			return f(ctx, s, fmt.Sprintf("step10/rank%d", c.Rank()), c.Rank())
		})
	}

	err = run(func(ctx context.Context, s *scr.Session, file string, rank int) error {
		if err := s.Start(ctx, "step10", scr.Checkpoint); err != nil {
			return err
		}
		name, err := s.Route(file) // path to write to, in the cache of the node
		if err == nil {
			err = os.WriteFile(name, fmt.Appendf(nil, "state of rank %d", rank), 0o600)
		}
		return errors.Join(err, s.Complete(ctx, err == nil))
	}) // the sessions are not closed, as in a killed run
	if err != nil {
		log.Fatal(err)
	}
	if err := os.RemoveAll(node(2)); err != nil {
		log.Fatal(err)
	}

	err = run(func(ctx context.Context, s *scr.Session, file string, rank int) error {
		if r, ok, err := s.HaveRestart(ctx); err != nil || !ok {
			return fmt.Errorf("no restart: %w", err)
		} else if rank == 2 {
			fmt.Println("restart from", r.Name)
		}
		if _, err := s.StartRestart(ctx); err != nil {
			return err
		}
		name, err := s.Route(file) // path to read from
		if err != nil {
			return err
		}
		state, err := os.ReadFile(name)
		if rank == 2 {
			fmt.Printf("read: %s\n", state)
		}
		if err := errors.Join(err, s.CompleteRestart(ctx, err == nil)); err != nil {
			return err
		}
		return s.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	state, err := os.ReadFile(filepath.Join(prefix, "step10", "rank2"))
	fmt.Printf("in the prefix directory: %s %v\n", state, err)
	// Output:
	// restart from step10
	// read: state of rank 2
	// in the prefix directory: state of rank 2 <nil>
}
