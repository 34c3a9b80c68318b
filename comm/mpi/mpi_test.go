//go:build mpi && cgo && linux

package mpi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"blobio/comm"
	"blobio/internal/comm/commtest"
	"blobio/internal/comm/mpitest"
)

// TestUnderMPIRun starts the test binary again under mpirun. Outside of mpirun it is the only test that runs. Under mpirun all
// processes run the other tests in the same order.
var (
	job      *Engine // engine of all processes; nil outside of mpirun
	launcher = flag.String("mpirun", "mpirun", "the mpirun of the MPI that the test is built with")
	ranks    = flag.String("ranks", "1 2 4 7", "numbers of processes")
)

const inside = "BLOBIO_TEST_MPI" // environment variable set in the processes of a job: funneled or multiple

func TestMain(m *testing.M) {
	flag.Parse()
	mode := os.Getenv(inside)
	if mode == "" {
		os.Exit(m.Run())
	}
	switch mode {
	case "run":
		os.Exit(runProgram())
	case "adopt":
		os.Exit(adoptProgram())
	}
	var err error
	if job, err = Init(&Options{Multiple: mode == "multiple"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	if job.World().Rank() == 0 {
		fmt.Printf("job of %d processes, %s, thread multiple %v\n", job.World().Size(), mode, job.home.level == levelMultiple)
	}
	code := m.Run()
	if err := job.Finalize(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "Finalize:", err)
		code = 3
	}
	os.Exit(code)
}

// mpirun runs this binary in n processes and returns their output. It ends a job that hangs.
func mpirun(t *testing.T, n, mode, run string, env ...string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-n", n}
	if openMPI() {
		args = append(args, "--oversubscribe", "--bind-to", cmp.Or(os.Getenv("BLOBIO_TEST_BIND"), "none"))
	}
	args = append(args, exe, "-test.run", run, "-test.v", "-test.timeout", "9m")
	env = append(append(os.Environ(), inside+"="+mode, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"), env...)
	return mpitest.Command(t, 10*time.Minute, env, *launcher, args...)
}

func openMPI() bool {
	out, _ := exec.Command(*launcher, "--version").CombinedOutput()
	return bytes.Contains(out, []byte("Open"))
}

func TestUnderMPIRun(t *testing.T) {
	if job != nil {
		return
	}
	if _, err := exec.LookPath(*launcher); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	for _, mode := range []string{"funneled", "multiple", "boardless"} {
		for _, n := range strings.Fields(*ranks) {
			if k, _ := strconv.Atoi(n); mode != "funneled" && (k < 2 || k > 4) {
				continue // two MPI libraries suffice
			}
			t.Run(mode+"/"+n, func(t *testing.T) {
				var env []string
				if mode == "boardless" { // simulate that the ranks of a node cannot share memory
					env = []string{"BLOBIO_MPI_FAIL=arena:0"}
				}
				out, err := mpirun(t, n, mode, "Job", env...)
				if err != nil {
					t.Errorf("%v\n%s", err, out)
					return
				}
				for _, want := range []string{"--- PASS: TestJobContract (", "--- PASS: TestJobFailures (", "--- PASS: TestJobPieces (",
					"--- PASS: TestJobManyComms (", "--- PASS: TestJobSignals (", "--- PASS: TestJobFallback (", "--- PASS: TestJobManyFailures (", "--- PASS: TestJobKeptBuffers (", "--- PASS: TestJobNodesOfParts (", "--- PASS: TestJobPutOfElement ("} {
					if fmt.Sprint(strings.Count(out, want)) != n {
						t.Errorf("%d processes said %q, want %s\n%s", strings.Count(out, want), want, n, out)
					}
				}
			})
		}
	}
	// Programs that start MPI themselves.
	for level := range 4 {
		t.Run(fmt.Sprintf("Adopt/%d", level), func(t *testing.T) {
			out, err := mpirun(t, "2", "adopt", "-", fmt.Sprintf("BLOBIO_TEST_LEVEL=%d", level))
			if err != nil || strings.Count(out, "adopted at level") != 2 {
				t.Errorf("%v\n%s", err, out)
			}
			t.Log(strings.SplitN(out, "\n", 2)[0])
		})
	}
	t.Run("Affinity", func(t *testing.T) {
		if !openMPI() {
			t.Skip("binds by options of Open MPI")
		}
		t.Setenv("BLOBIO_TEST_BIND", "core")
		t.Setenv("GOMAXPROCS", "") // override a value from the environment
		out, err := mpirun(t, "2", "run", "-", "BLOBIO_TEST_HOW=affinity")
		if err != nil || strings.Count(out, "GOMAXPROCS is 1 on 1 cores") != 2 {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("Huge", func(t *testing.T) {
		if os.Getenv("BLOBIO_LONG") == "" {
			t.Skip("takes 12 GB: set BLOBIO_LONG")
		}
		out, err := mpirun(t, "2", "run", "-", "BLOBIO_TEST_HOW=huge")
		if err != nil || strings.Count(out, "ends: <nil>") != 2 {
			t.Errorf("%v\n%s", err, out)
		}
	})
	// Run: one rank fails, and all processes end with its error.
	t.Run("Run", func(t *testing.T) {
		for how, want := range map[string]string{
			"error": "disk is full", "panic": "panic: out of luck", "leave": "rank has returned", "none": "",
		} {
			start, dir := time.Now(), t.TempDir()
			out, err := mpirun(t, "2", "run", "-", "BLOBIO_TEST_HOW="+how, saidDir+"="+dir)
			if (err != nil) != (want != "") {
				t.Errorf("%s: %v\n%s", how, err, out)
			}
			for r := range 2 {
				b, err := os.ReadFile(saidBy(dir, r))
				if said := string(b); err != nil || !strings.Contains(said, fmt.Sprintf("rank %d of 2 ends", r)) || !strings.Contains(said, want) {
					t.Errorf("%s: rank %d said %q, %v\n%s", how, r, said, err, out)
				}
			}
			t.Logf("%s: ended after %v", how, time.Since(start).Round(10*time.Millisecond))
		}
	})
}

// saidDir is an environment variable with a directory, to which each rank of runProgram writes its result. Standard output is not
// enough, because mpirun may lose the last output of a rank that it kills.
const saidDir = "BLOBIO_TEST_SAID"

func saidBy(dir string, rank int) string { return filepath.Join(dir, fmt.Sprint("rank.", rank)) }

// say writes the result of this rank and waits for all ranks.
func say(dir string, rank, size int, text string) error {
	next := saidBy(dir, rank) + ".next"
	if err := errors.Join(os.WriteFile(next, []byte(text), 0o666), os.Rename(next, saidBy(dir, rank))); err != nil {
		return err
	}
	for r, i := 0, 0; r < size; i++ {
		if _, err := os.Stat(saidBy(dir, r)); err == nil {
			r++
			continue
		} else if i == 60_000 {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// runProgram is the main function of a program whose rank 1 fails while rank 0 waits for it.
func runProgram() int {
	rank, size, who := 0, 0, ""
	err := Run(context.Background(), nil, func(ctx context.Context, c comm.Comm) error {
		rank, size = c.Rank(), c.Size()
		who = fmt.Sprintf("rank %d of %d", rank, size)
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		how := os.Getenv("BLOBIO_TEST_HOW")
		switch how {
		case "affinity":
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(0, &set); err != nil {
				return err
			}
			fmt.Printf("GOMAXPROCS is %d on %d cores\n", runtime.GOMAXPROCS(0), set.Count())
		case "huge":
			return huge(ctx, c)
		}
		if c.Rank() == 1 {
			switch how {
			case "error":
				return errors.New("disk is full")
			case "panic":
				panic("out of luck")
			case "leave":
				return nil
			}
		}
		return c.Barrier(ctx)
	})
	text := fmt.Sprintf("%s ends: %v\n", who, err)
	fmt.Print(text)
	if dir := os.Getenv(saidDir); dir != "" {
		if err := say(dir, rank, size, text); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	if err != nil {
		return 1
	}
	return 0
}

// inJob runs f on the first n ranks of the job, or on all if there are fewer, with their own Engine.
func inJob(o Options) commtest.Runner {
	return func(t *testing.T, n, perNode int, f func(ctx context.Context, c comm.Comm) error) error {
		ctx, all := t.Context(), job.World()
		color := 0
		if all.Rank() >= n {
			color = -1
		}
		part, err := all.Split(ctx, color, 0)
		if err != nil {
			t.Fatal(err)
		}
		if part != nil {
			err = inPart(ctx, part, o, perNode, f)
		}
		if x := comm.Agree(ctx, all, err); x != nil {
			return x
		}
		return nil
	}
}

func inPart(ctx context.Context, part comm.Comm, o Options, perNode int, f func(ctx context.Context, c comm.Comm) error) error {
	o.RanksPerNode = perNode
	e, err := job.Adopt(handleOf(part), &o)
	if err != nil {
		return err
	}
	err = f(ctx, e.World())
	e.Fail(err)
	if x := e.Finalize(ctx); err == nil {
		err = x
	}
	return err
}

func TestJobContract(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	commtest.Suite(t, inJob(Options{}))
}

// TestJobFailures: one rank fails in each possible way, and all other ranks soon return its error.
func TestJobFailures(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	disk := fmt.Errorf("disk: %w", os.ErrPermission)
	barrier := func(ctx context.Context, c comm.Comm) error { return c.Barrier(ctx) }
	waits := map[string]func(ctx context.Context, c comm.Comm) error{
		"Barrier": barrier,
		"Bcast": func(ctx context.Context, c comm.Comm) error {
			_, err := c.Bcast(ctx, 0, make([]byte, 1<<20))
			return err
		},
		"Recv":      func(ctx context.Context, c comm.Comm) error { _, err := c.Recv(ctx, c.Size()-1, 0); return err },
		"Split":     func(ctx context.Context, c comm.Comm) error { _, err := c.Split(ctx, 0, 0); return err },
		"NewWindow": func(ctx context.Context, c comm.Comm) error { _, err := c.NewWindow(ctx, nil); return err },
		"Alltoallv": func(ctx context.Context, c comm.Comm) error { _, err := c.Alltoallv(ctx, nil); return err },
		"big Send": func(ctx context.Context, c comm.Comm) error {
			return errors.Join(c.Send(ctx, c.Size()-1, 0, make([]byte, 1<<22)), c.Barrier(ctx))
		},
		"of a group": func(ctx context.Context, c comm.Comm) error { _, err := c.Recv(ctx, c.Size()-1, 9); return err },
	}
	fails := map[string]struct {
		do   func(ctx context.Context, c comm.Comm) error
		want error
	}{
		"error": {func(context.Context, comm.Comm) error { time.Sleep(5 * time.Millisecond); return disk }, os.ErrPermission},
		"usage": {func(ctx context.Context, c comm.Comm) error { _, err := c.Bcast(ctx, -1, nil); return err }, comm.ErrUsage},
		"tag":   {func(ctx context.Context, c comm.Comm) error { return c.Send(ctx, 0, -1, nil) }, comm.ErrUsage},
		"before": {func(ctx context.Context, c comm.Comm) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return c.Barrier(ctx)
		}, context.Canceled},
		"cancel": {func(ctx context.Context, c comm.Comm) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			defer cancel()
			_, err := c.Recv(ctx, 0, 77)
			return err
		}, context.DeadlineExceeded},
	}
	n := job.World().Size()
	check := func(name string, took time.Duration, c comm.Comm, err, want error) error {
		var re *comm.RankError
		switch {
		case !errors.Is(err, want):
			return fmt.Errorf("%s: rank %d got %w, want %w", name, c.Rank(), err, want)
		case c.Rank() != n-1 && (!errors.As(err, &re) || re.Rank != n-1):
			return fmt.Errorf("%s: rank %d got %w, want a RankError of %d", name, c.Rank(), err, n-1)
		case took > time.Minute:
			return fmt.Errorf("%s: rank %d took %v", name, c.Rank(), took)
		}
		return nil
	}
	runs, kept := 0, map[string]int64{}
	// All ranks must run the cases in the same order.
	for _, fail := range []string{"error", "usage", "tag", "before", "cancel"} {
		for _, wait := range []string{"Barrier", "Bcast", "Recv", "Split", "NewWindow", "Alltoallv", "big Send", "of a group"} {
			name := wait + " while another fails by " + fail
			live := int64(-1)
			outcome := func() error {
				e, err := job.Adopt(handleOf(job.World()), nil)
				if err != nil {
					return err
				}
				ctx, c := t.Context(), e.World()
				if _, err := comm.SharedMemory(ctx, c, 1000); err != nil {
					return err
				}
				start := time.Now()
				if c.Rank() == n-1 {
					err = fails[fail].do(ctx, c)
					e.Fail(err)
				} else {
					err = waits[wait](ctx, c)
				}
				took := time.Since(start)
				later := c.Barrier(ctx)
				if !errors.Is(later, comm.ErrBroken) {
					return fmt.Errorf("%s: after it rank %d got %w", name, c.Rank(), later)
				}
				if err := e.Finalize(ctx); err != nil {
					return fmt.Errorf("%s: Finalize: %w", name, err)
				}
				live = int64(e.live)
				return check(name, took, c, err, fails[fail].want)
			}()
			if err := comm.Agree(t.Context(), job.World(), outcome); err != nil {
				t.Error(err)
			}
			left, err := job.World().AllreduceInt64(t.Context(), []int64{live}, comm.Sum)
			if err != nil {
				t.Fatal(err)
			}
			if runs++; left[0] != 0 {
				kept[name] = left[0]
			}
		}
	}
	// Communicators that could not be freed keep no board memory, because the memory belongs to the job's engine.
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && bytes.Count(maps, []byte("memfd:blobio")) > 2 {
		t.Errorf("areas are left mapped:\n%s", maps)
	}
	// A communicator with a large unreceived message cannot be freed.
	for name, live := range kept {
		if !strings.HasPrefix(name, "big Send") || live < 0 {
			t.Errorf("%s: %d communicators, windows and requests are left", name, live)
		}
	}
	if job.World().Rank() == 0 {
		fmt.Printf("after %d failures all was freed but for %v\n", runs, kept)
	}
	if n == 1 {
		return
	}
	// Different collectives: all ranks get ErrMismatch with both names.
	err := inJob(Options{})(t, n, 0, func(ctx context.Context, c comm.Comm) error {
		var err error
		if c.Rank() == 1 {
			_, err = c.AllreduceInt64(comm.In(ctx, "Writer.Commit"), []int64{1}, comm.Max)
		} else {
			_, err = c.Gather(comm.In(ctx, "Writer.Flush"), 1, nil)
		}
		if !errors.Is(err, comm.ErrMismatch) || !strings.Contains(err.Error(), "rank 0 is in Writer.Flush (Gather with root 1), rank 1 is in Writer.Commit (AllreduceInt64 Max of 1 elements)") {
			return fmt.Errorf("rank %d got %w", c.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
