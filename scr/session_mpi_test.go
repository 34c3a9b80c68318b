//go:build mpi && cgo && linux

package scr

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/mpitest"
)

// envSessionJob holds the arguments of a job of TestSessionsUnderMPI, as fields separated by |.
const envSessionJob = "BLOBIO_TEST_SCR_JOB"

// sessionJob is one run of a program by four processes. Each process is on a node of its own, with a private directory.
type sessionJob struct {
	dir, nodes, action string
	env                []string // settings, NAME=VALUE
}

func (j sessionJob) String() string {
	return strings.Join([]string{j.dir, j.nodes, j.action, strings.Join(j.env, ";")}, "|")
}

// cluster returns the job's cluster. The nodes are below nodes/, and the parallel file system is prefix/.
func (j sessionJob) cluster(t testing.TB) *cluster {
	cl := newCluster(t, strings.Split(j.nodes, ",")...)
	cl.fs = vfs.OS
	cl.set("SCR_PREFIX", filepath.Join(j.dir, "prefix"))
	for _, kv := range j.env {
		k, v, _ := strings.Cut(kv, "=")
		cl.set(k, v)
	}
	cl.opts = func(c *Config) {
		c.NodeRoot = filepath.Join(j.dir, "nodes", c.Node)
		c.NoCacheSync = true
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return cl
}

// TestSessionsUnderMPI runs real processes that take checkpoints. One process is killed during a checkpoint, and lost nodes are
// replaced. The next run must rebuild the files and flush them. Then all nodes are lost, and the following run must fetch the
// checkpoint.
func TestSessionsUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	exe, err := os.Executable()
	must(t, err)
	for _, c := range []struct {
		name  string
		lost  []string
		nodes string // nodes of the second run
		env   []string
	}{
		{"XOR", []string{"node2"}, "node0,node1,node4,node3", []string{"SCR_COPY_TYPE=XOR"}},
		{"PARTNER", []string{"node2"}, "node3,node4,node1,node0", []string{"SCR_COPY_TYPE=PARTNER"}},
		{"RS", []string{"node1", "node2"}, "node0,node4,node5,node3", []string{"SCR_COPY_TYPE=RS", "SCR_SET_FAILURES=2"}},
		{"XOR in the background", []string{"node3"}, "node0,node1,node2,node4", []string{"SCR_COPY_TYPE=XOR", "SCR_FLUSH_ASYNC=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := sessionJob{dir: t.TempDir(), nodes: "node0,node1,node2,node3", env: c.env}
			must(t, os.MkdirAll(filepath.Join(j.dir, "prefix"), 0o777))
			run := func(action string, killed bool, say string) {
				t.Helper()
				j.action = action
				for n := range strings.SplitSeq(j.nodes, ",") {
					must(t, os.MkdirAll(filepath.Join(j.dir, "nodes", n, "local"), 0o777))
				}
				start := time.Now()
				out, err := mpitest.Run(t, 4, 5*time.Minute, []string{envSessionJob + "=" + j.String()}, exe, "-test.run", "^TestInJobSession$")
				if errors.Is(err, mpitest.ErrHung) || killed != (err != nil) || strings.Count(out, say) != 1 {
					t.Fatalf("%s on %s: %v after %v, want %q\n%s", action, j.nodes, err, time.Since(start), say, out)
				}
				t.Logf("%s on %s: %s, %v", action, j.nodes, say, time.Since(start).Round(10*time.Millisecond))
			}
			run("take 1 4 then die", true, "restarted from 0")
			for _, n := range c.lost {
				must(t, os.RemoveAll(filepath.Join(j.dir, "nodes", n)))
			}
			j.nodes = c.nodes
			run("take 5 7 then flush", false, "restarted from 4")
			must(t, os.RemoveAll(filepath.Join(j.dir, "nodes")))
			run("take 8 8", false, "restarted from 7")
			run("take 9 9", false, "restarted from 8")
		})
	}
}

func TestInJobSession(t *testing.T) {
	text := os.Getenv(envSessionJob)
	if text == "" {
		t.Skip("runs under mpirun, see TestSessionsUnderMPI")
	}
	f := strings.Split(text, "|")
	j := sessionJob{f[0], f[1], f[2], strings.Split(f[3], ";")}
	var from, to int
	_, err := fmt.Sscanf(j.action, "take %d %d", &from, &to)
	must(t, err)
	cl := j.cluster(t)
	must(t, mpi.Run(t.Context(), &mpi.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) error {
		rank := c.Rank()
		s, err := openWith(ctx, c, cl.config(rank), cl.knobs(rank))
		if err != nil {
			return err
		}
		n, err := cl.read(ctx, s, rank)
		if err != nil {
			return err
		}
		if rank == 0 {
			fmt.Printf("restarted from %d\n", n)
		}
		for k := from; k <= to; k++ {
			if err := cl.write(ctx, s, rank, k); err != nil {
				return fmt.Errorf("checkpoint %d: %w", k, err)
			}
		}
		switch {
		case strings.HasSuffix(j.action, "die"):
			if err := s.Start(ctx, "ckpt.99", Checkpoint); err != nil {
				return err
			}
			name, err := s.Route(fileName(99, rank, 0))
			if err != nil {
				return err
			}
			if err := put(cl.fs, name, content(99, rank, 0)); err != nil {
				return err
			}
			if rank == 2 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return s.Complete(ctx, true)
		case strings.HasSuffix(j.action, "flush"):
			if err := s.Flush(ctx, fmt.Sprintf("ckpt.%d", to)); err != nil {
				return err
			}
		}
		return s.Close(ctx)
	}))
}
