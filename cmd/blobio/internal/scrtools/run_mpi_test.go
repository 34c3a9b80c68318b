//go:build mpi && cgo && linux

package scrtools_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/cli"
	"blobio/internal/comm/mpitest"
	"blobio/scr"
)

// The test program can also act as an MPI program.
func init() {
	if dir := os.Getenv("BLOBIO_TEST_SCR_PROGRAM"); dir != "" && os.Getenv("BLOBIO_RUN") != "" {
		if err := scrProgram(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// scrProgram is an MPI program that takes six checkpoints. In the first run, a rank is killed during the fourth checkpoint.
func scrProgram(dir string) error {
	if err := os.Chdir(os.Getenv("SCR_PREFIX")); err != nil {
		return err
	}
	return mpi.Run(context.Background(), &mpi.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) error {
		node := fmt.Sprint("node", c.Rank())
		s, err := scr.Open(ctx, c, &scr.Config{Node: node, NodeRoot: filepath.Join(dir, node), NoCacheSync: true, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		step, name := 0, fmt.Sprintf("rank%d", c.Rank())
		if r, ok, err := s.HaveRestart(ctx); err != nil {
			return err
		} else if ok {
			if _, err := s.StartRestart(ctx); err != nil {
				return err
			}
			path, err := s.Route(filepath.Join(r.Name, name))
			if err != nil {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if _, err := fmt.Sscanf(string(b), name+" at step %d", &step); err != nil {
				return fmt.Errorf("%s holds %q: %w", path, b, err)
			}
			if err := s.CompleteRestart(ctx, true); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			fmt.Printf("run %s begins at step %d\n", os.Getenv("BLOBIO_RUN"), step)
		}
		for step < 6 {
			step++
			ckpt := fmt.Sprintf("step%d", step)
			if err := s.Start(ctx, ckpt, scr.Checkpoint); err != nil {
				return err
			}
			path, err := s.Route(filepath.Join(ckpt, name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, fmt.Appendf(nil, "%s at step %d", name, step), 0o666); err != nil {
				return err
			}
			if step == 4 && c.Rank() == 2 && os.Getenv("BLOBIO_RUN") == "1" {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			if err := s.Complete(ctx, true); err != nil {
				return err
			}
		}
		return s.Close(ctx)
	})
}

// TestScrRunMPIRun checks that the run loop with the real mpirun restarts a real MPI program after one of its ranks was killed,
// and that the program continues from its last checkpoint.
func TestScrRunMPIRun(t *testing.T) {
	launcher := mpitest.Launcher(t)
	if !mpitest.OpenMPI(launcher) {
		t.Skip("--launcher mpirun is that of Open MPI")
	}
	prefix := allocation(t)
	exe, err := os.Executable()
	clitest.Check(t, err)
	bin, dir := t.TempDir(), t.TempDir()
	clitest.Check(t, os.Symlink(launcher, filepath.Join(bin, "mpirun")))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("BLOBIO_TEST_SCR_PROGRAM", dir)
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	t.Setenv("SCR_COPY_TYPE", "XOR")
	host, err := os.Hostname()
	clitest.Check(t, err)
	for i := range 4 {
		clitest.Check(t, os.MkdirAll(filepath.Join(dir, fmt.Sprint("node", i), os.Getenv("SCR_CACHE_BASE")), 0o777))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := clitest.BlobioCtx(ctx, "scr", "run", "--prefix", prefix, "--nodes", host, "--launcher", "mpirun", "--launcher-arg", "--oversubscribe", "--per-node", "4",
		"--min-nodes", "1", "--runs", "3", "--pause", "0s", "--no-salvage", "--", exe)
	said := r.Out + r.Err
	for _, want := range []string{"run 1 begins at step 0", "run 2 begins at step 3", `run 1 ended after .*exit code 137`, `run 2 ended after .*exit code 0`, "stop: done"} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("%q is missing", want)
		}
	}
	if r.Code != cli.Good || strings.Contains(said, "run 3") {
		t.Errorf("exit code %d", r.Code)
	}
	t.Log(said)
}
