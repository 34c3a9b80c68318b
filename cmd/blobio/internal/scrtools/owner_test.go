package scrtools_test

import (
	"context"
	"os"
	"path/filepath"

	"blobio/comm"
	"blobio/internal/scr/config"
	"blobio/scr"
)

// openSession runs an idle program of one rank, with its control directory, cache and prefix directory in dir.
func openSession(dir string) error {
	set, err := config.Load(config.Sources{Dir: dir, Environ: []string{"SCR_PREFIX=" + filepath.Join(dir, "prefix"),
		"SCR_CNTL_BASE=" + filepath.Join(dir, "cntl"), "SCR_CACHE_BASE=" + filepath.Join(dir, "cache"), "SCR_USER_NAME=x", "SCR_JOB_ID=77",
		"SCR_LOG_SYSLOG_ENABLE=0", "SCR_COPY_TYPE=SINGLE"}})
	if err != nil {
		return err
	}
	return comm.Run(context.Background(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := scr.Open(ctx, c, &scr.Config{Params: set, Node: "n", Shared: os.Getenv("BLOBIO_TEST_SHARED") != ""})
		if err != nil {
			return err
		}
		return s.Close(ctx)
	})
}
