package salvage_test

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
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/salvage"
	"blobio/scr"
)

// A run dies with a checkpoint that is only in the cache of its node. Without ranks it is copied to the prefix directory and
// listed in the index.
func ExampleRun() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	prefix, cntl, cache := filepath.Join(tmp, "prefix"), filepath.Join(tmp, "cntl"), filepath.Join(tmp, "cache")
	if err := os.Mkdir(prefix, 0o700); err != nil {
		log.Fatal(err)
	}
	p, err := config.Load(config.Sources{Dir: prefix, Environ: []string{"SCR_USER_NAME=user", "SCR_JOB_ID=1",
		"SCR_CNTL_BASE=" + cntl, "SCR_CACHE_BASE=" + cache, "SCR_COPY_TYPE=SINGLE", "SCR_CACHE_BYPASS=0"}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	// The run: one checkpoint, and no Close.
	err = comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := scr.Open(ctx, c, &scr.Config{Params: p, Dir: prefix, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			return err
		}
		if err := s.Start(ctx, "step10", scr.Checkpoint); err != nil {
			return err
		}
		name, err := s.Route(fmt.Sprintf("step10/rank%d", c.Rank()))
		if err == nil {
			err = os.WriteFile(name, []byte("state"), 0o600)
		}
		return errors.Join(err, s.Complete(ctx, err == nil))
	})
	if err != nil {
		log.Fatal(err)
	}

	// After it.
	job, err := config.JobOf(p)
	if err != nil {
		log.Fatal(err)
	}
	node := salvage.Node{Name: "node0", Catalog: filepath.Join(job.Control, "cindex.scrinfo"), Caches: []string{job.CacheDir(cache)}}
	rep, err := salvage.Run(ctx, salvage.RunOptions{Prefix: prefixdir.Open(nil, prefix), Nodes: []salvage.Node{node}})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range rep.Tried {
		fmt.Println("dataset", t.ID, t.Err)
	}
	state, err := os.ReadFile(filepath.Join(prefix, "step10", "rank1"))
	fmt.Printf("current: %s, rank 1 has %q %v\n", rep.Current, state, err)
	// Output:
	// dataset 1 <nil>
	// current: step10, rank 1 has "state" <nil>
}
