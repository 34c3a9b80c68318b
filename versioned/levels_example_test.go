package versioned_test

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
	"blobio/versioned"
)

// A run keeps versions in memory, and commits one of them to an SCR session. The next run restarts from
// this version.
func ExampleLevels() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	prefix := filepath.Join(tmp, "prefix")
	if err := os.Mkdir(prefix, 0o700); err != nil {
		log.Fatal(err)
	}
	run := func(f func(ctx context.Context, c comm.Comm, st *versioned.Levels) error) error {
		return comm.Run(context.Background(), 2, nil, func(ctx context.Context, c comm.Comm) error {
			p, err := config.Load(config.Sources{Dir: prefix, Environ: []string{"SCR_USER_NAME=user", "SCR_JOB_ID=1", "SCR_COPY_TYPE=SINGLE",
				"SCR_CNTL_BASE=" + filepath.Join(tmp, "cntl"), "SCR_CACHE_BASE=" + filepath.Join(tmp, "cache")}})
			if err != nil {
				return err
			}
			s, err := scr.Open(ctx, c, &scr.Config{Params: p, Dir: prefix, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err != nil {
				return err
			}
			return errors.Join(f(ctx, c, &versioned.Levels{Comm: c, Session: s}), s.Close(ctx))
		})
	}

	err = run(func(ctx context.Context, c comm.Comm, st *versioned.Levels) error {
		a, err := versioned.Create(ctx, c, nil, versioned.Spec{Name: "heat", Type: versioned.TypeOf[float64](), Shape: []int64{4}}, nil) // in memory
		if err != nil {
			return err
		}
		lo := int64(2 * c.Rank())
		if err := versioned.Put(ctx, a, []int64{lo}, []int64{lo + 2}, []float64{float64(lo), float64(lo + 1)}); err != nil {
			return err
		}
		n, err := a.Inc(ctx, 1, "step 10")
		if err != nil {
			return err
		}
		err = st.Commit(ctx, "step10", scr.Checkpoint, versioned.Part{Array: a, Version: n})
		return errors.Join(err, a.Close(ctx))
	})
	if err != nil {
		log.Fatal(err)
	}

	err = run(func(ctx context.Context, c comm.Comm, st *versioned.Levels) error {
		arrays, ok, err := st.Restart(ctx, nil, nil)
		if err != nil || !ok {
			return fmt.Errorf("nothing to restart from: %w", err)
		}
		heat := make([]float64, 4)
		err = versioned.Get(ctx, arrays[0], []int64{0}, []int64{4}, heat)
		if c.Rank() == 0 {
			fmt.Println(arrays[0].Spec().Name, heat)
		}
		return errors.Join(err, arrays[0].Close(ctx))
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: heat [0 1 2 3]
}
