package scrtools_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/comm"
	"blobio/internal/cli"
	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/transfer"
	"blobio/scr"
)

// transferProgram is the program of TestScrRunTransfer, on one node. The first run dies after it has requested a flush in the
// background. The second run finds the flushed checkpoint and continues from it.
func transferProgram() error {
	prefix, first := os.Getenv("SCR_PREFIX"), os.Getenv("BLOBIO_RUN") == "1"
	file := filepath.Join(prefix, "ckpt.1", "state")
	if !first {
		for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if b, err := os.ReadFile(file); err == nil && string(b) == "state 1" {
				break
			} else if time.Now().After(end) {
				return fmt.Errorf("nobody copied %s: %v", file, err)
			}
		}
	}
	return comm.Run(context.Background(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := scr.Open(ctx, c, &scr.Config{Node: os.Getenv("BLOBIO_NODE"), NodeRoot: os.Getenv("BLOBIO_NODE_DIR"), Dir: prefix})
		if err != nil {
			return err
		}
		if !first {
			r, err := s.StartRestart(ctx)
			if err != nil {
				return err
			}
			if r.Name != "ckpt.1" {
				return fmt.Errorf("restart from %s", r.Name)
			}
			return errors.Join(s.CompleteRestart(ctx, true), s.Close(ctx))
		}
		if err := s.Start(ctx, "ckpt.1", scr.Checkpoint); err != nil {
			return err
		}
		name, err := s.Route("ckpt.1/state")
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte("state 1"), 0o666); err != nil {
			return err
		}
		if err := s.Complete(ctx, true); err != nil {
			return err
		}
		job, err := config.JobOf(s.Params())
		if err != nil {
			return err
		}
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			f, err := transfer.ReadFile(ctx, nil, filepath.Join(os.Getenv("BLOBIO_NODE_DIR"), job.Control, transfer.FileName), false)
			_, there := os.Stat(file) // already gone if the flush was quick
			if err == nil && len(f.Items) > 0 || there == nil {
				os.Exit(3) // as if killed
			}
		}
		return errors.New("the flush was not left to the transfer process")
	})
}

// TestScrRunTransfer checks that the run loop starts a transfer process on each node. The process outlives a dead run, and ends
// with the loop.
func TestScrRunTransfer(t *testing.T) {
	prefix := allocation(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("BLOBIO_TEST_MAIN", "1")
	root := t.TempDir()
	r := clitest.Blobio(t, "scr", "run", "--prefix", prefix, "--nodes", "n1", "--node-root", root, "--pause", "0s", "--grace", "5m", "--runs", "2", "--transfer",
		"-s", "SCR_FLUSH_ASYNC=1", "-s", "SCR_FLUSH_ASYNC_BW=0", "-s", "SCR_FLUSH=1", "-s", "SCR_CACHE_BYPASS=0", "-s", "SCR_COPY_TYPE=SINGLE", "-s", "SCR_JOB_ID=7", "-s", "SCR_USER_NAME=u",
		"-s", "BLOBIO_TEST_TRANSFER=1", "--", exe)
	if r.Code != cli.Good || !strings.Contains(r.Err, "run 2 of 2") {
		t.Fatal(r)
	}
	x, err := prefixdir.Open(nil, prefix).Index.Read()
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := x.Entry("ckpt.1"); !ok || !e.Complete {
		t.Errorf("%+v %v", e, ok)
	}
	var found string
	_ = filepath.Walk(root, func(name string, _ os.FileInfo, _ error) error {
		if filepath.Base(name) == transfer.FileName {
			found = name
		}
		return nil
	})
	f, err := transfer.ReadFile(t.Context(), nil, found, false)
	if err != nil || f.State != transfer.StateExiting {
		t.Errorf("%s: %+v %v", found, f, err)
	}
	// No process serves it any more.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := transfer.Serve(ctx, transfer.ServeOptions{File: found, Prefix: filepath.Dir(found), Poll: time.Millisecond}); err != nil {
		t.Error(err)
	}
}
