//go:build mpi && cgo && linux

package blob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/mpitest"
)

// TestKilledUnderMPI kills one rank of a job in any phase, and mpirun ends the other ranks. The dataset must have the old
// content or, if the commit's record was written, the new content. Check must name the remaining files, and the next writer
// must remove them.
func TestKilledUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	counts := map[string]int{}
	for i, s := range sessions() {
		for _, who := range []int{0, jobRanks / 2} {
			if who != 0 && s.nodes == 1 && !s.append {
				continue // the first rank of a node writes for all ranks of the node
			}
			t.Run(fmt.Sprintf("%v/rank %d", s, who), func(t *testing.T) {
				// run kills the rank at its operation n (0: never). With background flushes the number of operations varies, because syncs
				// cover different parts of a file. So a session may end before operation n; it must then have succeeded.
				run := func(n int) (dir, out string, ops int) {
					dir = t.TempDir()
					t.Chdir(dir)
					must(s.begin())
					start := time.Now()
					out, err := runJob(t, 5*time.Minute, "TestInJobKilled", envJobDir+"="+dir, envJobDo+"="+s.String(), fmt.Sprintf("%s=%d,%d", envKill, who, n))
					ops = int(highest(out, "operations", 0))
					idle := who != 0 && n == 0 && strings.Contains(out, "operations 0\n") // another rank of the node does all the work
					killed, through := err != nil && !errors.Is(err, mpitest.ErrHung), err == nil && (ops > 0 || idle)
					if ok := through && (n == 0 || s.async && ops < n) || killed && n > 0 && ops == 0; !ok {
						t.Fatalf("killed at operation %d: %v after %v, %d operations\n%s", n, err, time.Since(start), ops, out)
					}
					return dir, out, ops
				}
				_, _, ops := run(0)
				// Different sessions are killed at different operations.
				for n := 1 + i%2; n <= ops; n += times(max(4, ops/3), 1) {
					dir, out, through := run(n)
					when := "killed"
					for l := range strings.Lines(out) {
						if strings.HasPrefix(l, "killed ") {
							when = strings.TrimSpace(l)
						}
					}
					if through > 0 {
						when = fmt.Sprintf("through after %d operations", through)
					}
					state := s.look(t, dir, when, n)
					if through > 0 && state != "now" {
						t.Errorf("%s: the dataset is as it was", when)
					}
					counts[state]++
					t.Logf("%s: %s", when, state)
				}
			})
		}
	}
	if counts["was"] < 10 || counts["now"] < 2 {
		t.Errorf("%v", counts)
	}
	t.Log(counts)
}

// TestKilledNewUnderMPI kills a rank that writes a new dataset. Uncommitted files must remain, and Check must report them.
func TestKilledNewUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	for _, phase := range []string{"create", "put", "flush", "close"} {
		for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
			dir := t.TempDir()
			s := aSession{layout: l, nodes: 1, aggs: 1}
			out, err := runJob(t, 5*time.Minute, "TestInJobKilledAfter", envJobDir+"="+dir, envJobDo+"="+s.String(), envKill+"="+phase)
			if err == nil || errors.Is(err, mpitest.ErrHung) {
				t.Fatalf("killed after %s: %v\n%s", phase, err, out)
			}
			mem := loaded(t, dir)
			c := crash{fs: mem, when: "killed after " + phase}
			if phase == "close" {
				if state := seen(t, c, "d.nc", nil, tinyModel(1, 2).canonical(false)); state != "now" {
					t.Fatalf("killed after Close had returned: %s: %v", state, names(mem, "."))
				}
				continue
			}
			bad := checkErrors(mem, "d.nc")
			if len(bad) == 0 || !errors.Is(bad[0].Err, dataset.ErrNotCommitted) {
				t.Errorf("killed after %s: %v: Check finds %v", phase, names(mem, "."), bad)
			}
			if state := seen(t, c, "d.nc", nil, nil); state != "none" {
				t.Errorf("killed after %s: %s: %v", phase, state, names(mem, "."))
			}
		}
	}
}

func TestInJobKilledAfter(t *testing.T) {
	phase := os.Getenv(envKill)
	if os.Getenv(envJobDir) == "" || phase == "" {
		t.Skip("runs under mpirun, see TestKilledNewUnderMPI")
	}
	must(os.Chdir(os.Getenv(envJobDir)))
	s := need(parseSession(os.Getenv(envJobDo)))
	m := tinyModel(1, 2)
	must(mpi.Run(t.Context(), nil, func(ctx context.Context, c comm.Comm) error {
		die := func(after string) {
			if phase == after && c.Rank() == 2 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		w, err := write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), s.options(vfs.OS))
		must(err)
		die("create")
		for rec := range m.records {
			must(m.putRecord(w, rec, c.Rank(), rec == 0))
			die("put")
			must(w.Flush(ctx))
			die("flush")
		}
		err = w.Close(ctx)
		if c.Rank() != 2 {
			if err == nil {
				err = c.Send(ctx, 2, 0, nil)
			}
			if err == nil {
				_, err = c.Recv(ctx, 2, 0) // waits for the rank that dies
			}
			return err
		}
		for r := range c.Size() { // waits until the others have finished Close too
			if r != 2 && err == nil {
				_, err = c.Recv(ctx, r, 0)
			}
		}
		die("close")
		return err
	}))
}

func TestInJobKilled(t *testing.T) {
	if os.Getenv(envJobDir) == "" || os.Getenv(envJobDo) == "" {
		t.Skip("runs under mpirun, see TestKilledUnderMPI")
	}
	must(os.Chdir(os.Getenv(envJobDir)))
	s := need(parseSession(os.Getenv(envJobDo)))
	var who, n int
	need(fmt.Sscanf(os.Getenv(envKill), "%d,%d", &who, &n))
	must(mpi.Run(t.Context(), &mpi.Options{RanksPerNode: jobRanks / s.nodes}, func(ctx context.Context, c comm.Comm) error {
		fsys := vfs.OS
		var ops atomic.Int64 // including background flushes
		if c.Rank() == who {
			fsys = vfs.NewFault(fsys, func(op vfs.Op) error {
				if ops.Add(1); n > 0 && op.Seq == int64(n) {
					fmt.Printf("killed in %v\n", op)
					syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
				return nil
			})
		}
		err := s.write(ctx, c, fsys)
		if c.Rank() == who {
			fmt.Printf("operations %d\n", ops.Load())
		}
		return err
	}))
}
