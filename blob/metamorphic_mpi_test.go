//go:build mpi && cgo && linux

package blob

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/mpitest"
)

// Variables of TestMetamorphicUnderMPI. BLOBIO_SEED is the seed of the first case; by default it comes from the time.
// BLOBIO_CASES is the number of cases for each number of processes: by default 300, and 10,000 with BLOBIO_LONG. A time limit
// can end the test earlier.
const (
	envSeed  = "BLOBIO_SEED"
	envCases = "BLOBIO_CASES"
	envUntil = "BLOBIO_TEST_UNTIL" // time limit of a job in seconds
)

// mpiCase is a dataset, with options for writing it and for the MPI engine.
type mpiCase struct {
	m    *model
	p    *writePlan
	opts mpi.Options
}

// newCase draws a case. The same seed gives the same case in every process.
func newCase(seed int64, ranks int) mpiCase {
	return rapid.Custom(func(t *rapid.T) mpiCase {
		m := drawModel(t, ranks)
		p := drawPlan(t, m, true)
		return mpiCase{m, p, mpi.Options{
			RanksPerNode: p.co.RanksPerNode,
			Piece:        rapid.SampledFrom([]int{0, 0, 64, 4096}).Draw(t, "piece"),
		}}
	}).Example(int(seed))
}

func (c mpiCase) String() string {
	return fmt.Sprintf("%d records in %d sessions, variables %+v, %+v, options %+v", c.m.records, len(c.p.cuts), c.m.s.Vars, c.opts, c.p.o)
}

func rerun(seed int64, ranks int) string {
	tags, more := "mpi", ""
	if v := os.Getenv("BLOBIO_MPI_FAIL"); v != "" {
		more = "BLOBIO_MPI_FAIL=" + v + " "
	}
	if l := os.Getenv("BLOBIO_MPIRUN"); strings.Contains(l, "mpich") {
		tags = "mpi,mpich"
	}
	return fmt.Sprintf("%s%s=%d %s=1 go test -tags %s ./blob -count=1 -run 'TestMetamorphicUnderMPI/%d$' -v", more, envSeed, seed, envCases, tags, ranks)
}

// TestMetamorphicUnderMPI checks that the processes of a job write the same bytes as the ranks of one process. All processes
// draw the same datasets and options from a seed.
func TestMetamorphicUnderMPI(t *testing.T) {
	launcher := mpitest.Launcher(t)
	open := mpitest.OpenMPI(launcher)
	seed := need(strconv.ParseInt(cmp.Or(os.Getenv(envSeed), fmt.Sprint(time.Now().UnixNano()%1e9)), 10, 64))
	for _, c := range []struct {
		ranks int
		fails string // step of the MPI engine that fails on one rank
		part  int    // run one case in part
	}{{1, "", 1}, {2, "", 1}, {4, "", 1}, {2, "window:1", 4}, {2, "node:0", 4}} {
		if !open && c.ranks != 2 {
			continue
		}
		name := fmt.Sprint(c.ranks)
		if c.fails != "" {
			name = c.fails
		}
		t.Run(name, func(t *testing.T) {
			cases := cmp.Or(os.Getenv(envCases), fmt.Sprint(times(300, 10000)/c.part))
			limit := time.Duration(times(25, 400)/c.part) * time.Second
			dir := need(os.MkdirTemp(scratch(), "blobio"))
			t.Cleanup(func() { os.RemoveAll(dir) })
			exe := need(os.Executable())
			env := []string{envJobDir + "=" + dir, fmt.Sprintf("%s=%d", envSeed, seed), envCases + "=" + cases,
				fmt.Sprintf("%s=%d", envUntil, int(limit.Seconds())), "BLOBIO_MPIRUN=" + launcher}
			if c.fails != "" {
				env = append(env, "BLOBIO_MPI_FAIL="+c.fails)
			}
			out, err := mpitest.Run(t, c.ranks, limit+5*time.Minute, env, exe, "-test.run", "^TestInJobMetamorphic$", "-test.v")
			if err != nil || strings.Count(out, "--- PASS: TestInJobMetamorphic") != c.ranks {
				t.Fatalf("cases from seed %d on: %v\n%s", seed, err, out)
			}
			for l := range strings.Lines(out) {
				if strings.Contains(l, "cases from seed") {
					t.Log(strings.TrimSpace(l))
				}
			}
		})
	}
}

// scratch returns a directory on an in-memory file system, or "" if the machine has none.
func scratch() string {
	if s, err := os.Stat("/dev/shm"); err == nil && s.IsDir() {
		return "/dev/shm"
	}
	return ""
}

func TestInJobMetamorphic(t *testing.T) {
	job := startJob(t)
	world, ctx := job.World(), t.Context()
	number := func(name string) int64 {
		return need(strconv.ParseInt(os.Getenv(name), 10, 64))
	}
	seed, cases := number(envSeed), number(envCases)
	end := time.Now().Add(time.Duration(number(envUntil)) * time.Second)
	done := int64(0)
	for ; done < cases; done++ {
		late := int64(0)
		if time.Now().After(end) {
			late = 1
		}
		late1 := need(world.AllreduceInt64(ctx, []int64{late}, comm.Max))
		if late1[0] != 0 {
			break
		}
		if world.Rank() == 0 && testing.Verbose() && cases == 1 {
			fmt.Println(newCase(seed+done, world.Size()))
		}
		if err := comm.Agree(ctx, world, oneCase(t, job, newCase(seed+done, world.Size()), done)); err != nil {
			if world.Rank() == 0 {
				t.Errorf("seed %d, %d processes: %v\n%v\nto run it again:\n%s", seed+done, world.Size(), err, newCase(seed+done, world.Size()), rerun(seed+done, world.Size()))
			}
			t.FailNow()
		}
	}
	if world.Rank() == 0 {
		fmt.Printf("%d of %d cases from seed %d on, %d processes\n", done, cases, seed, world.Size())
	}
}

// oneCase writes a case with the processes of the job. Its first process also writes the case with ranks of its own, and
// compares the files.
func oneCase(t *testing.T, job *mpi.Engine, c mpiCase, k int64) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	dir := newDir(t, job.World(), fmt.Sprint(k), func() error { return nil })
	o := c.p.o
	o.Fs, o.Durability = vfs.OS, dataset.DurableNone
	var all []rankOutcome
	for s := range c.p.cuts {
		all = inEngine(t, job, dir, &c.opts, func(ctx context.Context, w comm.Comm) (string, error) {
			return "", c.p.session(ctx, w, s, "d.nc", o)
		})
		for r, x := range all {
			if x.err != "" {
				return fmt.Errorf("session %d: rank %d: %s", s, r, x.err)
			}
		}
	}
	if job.World().Rank() != 0 {
		return nil
	}
	twin := c.p.plain()
	twin.Fs, twin.Durability = vfs.NewMem(), dataset.DurableNone
	if err := c.p.write("d.nc", twin, false); err != nil {
		return fmt.Errorf("ranks of one process: %w", err)
	}
	got := loaded(t, dir)
	if err := sameFiles(got, twin.Fs, "d.nc"); err != nil {
		return err
	}
	if bad := checkErrors(got, "d.nc"); len(bad) > 0 {
		return fmt.Errorf("check: %v", bad)
	}
	canonical, err := canonicalOf(got, "d.nc")
	if err == nil && !bytes.Equal(canonical, c.m.canonical(false)) {
		err = fmt.Errorf("canonical file: %s", firstDiff(canonical, c.m.canonical(false)))
	}
	return errors.Join(err, os.RemoveAll(dir))
}
