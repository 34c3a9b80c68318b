//go:build mpi && cgo && linux

package blob

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/mpitest"
)

// The test binary runs itself under mpirun. TestFailuresUnderMPI and TestKilledUnderMPI start jobs. Tests with names beginning
// with TestInJob run in all processes of a job.
const (
	envJobDir = "BLOBIO_TEST_JOB"  // working directory of the job
	envJobDo  = "BLOBIO_TEST_WORK" // aSession in text form
	envKill   = "BLOBIO_TEST_KILL" // rank and operation at which the rank is killed
)

const jobRanks = 4 // as in tinyModel

// aSession is a session of the ranks of a job.
type aSession struct {
	layout dataset.Layout
	append bool // the session appends to a dataset; otherwise it replaces one
	nodes  int
	aggs   int  // aggregators per node
	async  bool // the session flushes in the background
}

func (s aSession) String() string {
	return fmt.Sprintf("%d,%v,%d,%d,%v", s.layout, s.append, s.nodes, s.aggs, s.async)
}

func parseSession(text string) (s aSession, err error) {
	_, err = fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "%d %t %d %d %t", &s.layout, &s.append, &s.nodes, &s.aggs, &s.async)
	return s, err
}

func sessions() (l []aSession) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, add := range []bool{false, true} {
			l = append(l, aSession{layout, add, 1, 1, false}, aSession{layout, add, 2, 2, false})
		}
		l = append(l, aSession{layout, layout == dataset.VariableCentric, 1, 1, true})
	}
	return l
}

func (s aSession) options(fsys vfs.FS) *dataset.Settings {
	o := &dataset.Settings{Options: dataset.Options{Layout: s.layout, Workers: 1, Aggregators: s.aggs, Force: !s.append}, Knobs: dataset.Knobs{Fs: fsys}}
	if s.async {
		o.SyncMin = 1 // see flushOf
	}
	return o
}

// models returns the dataset before and after the session.
func (s aSession) models() (was, now *model) {
	was, now = tinyModel(2, 1), tinyModel(1, 2)
	if s.append {
		now = was.upTo(3)
	}
	return was, now
}

// begin makes the dataset before the session, in one process.
func (s aSession) begin() error {
	was, _ := s.models()
	return comm.Run(context.Background(), was.ranks, &comm.Options{RanksPerNode: jobRanks / s.nodes}, func(ctx context.Context, c comm.Comm) error {
		return was.create(ctx, c, "d.nc", s.options(vfs.OS))
	})
}

func (s aSession) write(ctx context.Context, c comm.Comm, fsys vfs.FS) error {
	_, now := s.models()
	if s.append {
		return now.add(ctx, c, "d.nc", s.options(fsys))
	}
	return now.create(ctx, c, "d.nc", s.options(fsys))
}

// look checks that the dataset in a directory is the one before or after the session, and lets another writer continue.
func (s aSession) look(t *testing.T, dir, when string, k int) string {
	t.Helper()
	was, now := s.models()
	c := crash{fs: loaded(t, dir), when: fmt.Sprintf("%v: %s", s, when)}
	state := seen(t, c, "d.nc", was.canonical(false), now.canonical(false))
	nextWriter(t, crashCase{o: dataset.Settings{Options: dataset.Options{Layout: s.layout, Workers: 1, Subfiles: s.nodes}}}, c, k, state, was, now)
	return state
}

// loaded copies a directory to memory.
func loaded(t *testing.T, dir string) *vfs.Mem {
	t.Helper()
	es := need(os.ReadDir(dir))
	mem := vfs.NewMem()
	for _, e := range es {
		b := need(os.ReadFile(filepath.Join(dir, e.Name())))
		must(vfs.WriteFile(mem, e.Name(), b))
	}
	must(mem.SyncDir("."))
	return mem
}

func runJob(t *testing.T, limit time.Duration, test string, env ...string) (string, error) {
	t.Helper()
	exe := need(os.Executable())
	return mpitest.Run(t, jobRanks, limit, env, exe, "-test.run", "^"+test+"$", "-test.v")
}

// highest returns the highest number after begin in the lines of out, or least if that is higher.
func highest(out, begin string, least int64) int64 {
	for l := range strings.Lines(out) {
		var k int64
		if c, _ := fmt.Sscanf(l, begin+" %d", &k); c == 1 {
			least = max(least, k)
		}
	}
	return least
}

// doomed is a file system that kills its process before operation n (0: never) and counts operations.
func doomed(n int, ops *atomic.Int64) vfs.FS {
	return vfs.NewFault(vfs.OS, func(vfs.Op) error {
		if k := ops.Add(1); n > 0 && k == int64(n) {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	})
}

// rankOutcome is the outcome of a session on one rank.
type rankOutcome struct {
	err  string
	note string
	took time.Duration
}

// inJob runs f on the ranks of a job, in directory dir, with perNode ranks per node. It returns the outcomes by rank.
func inJob(t *testing.T, job *mpi.Engine, dir string, perNode int, f func(ctx context.Context, c comm.Comm) (string, error)) []rankOutcome {
	t.Helper()
	return inEngine(t, job, dir, &mpi.Options{RanksPerNode: perNode}, f)
}

// inEngine is inJob with options of the MPI engine.
func inEngine(t *testing.T, job *mpi.Engine, dir string, o *mpi.Options, f func(ctx context.Context, c comm.Comm) (string, error)) (all []rankOutcome) {
	t.Helper()
	ctx, world := t.Context(), job.World()
	must(os.Chdir(dir))
	e := need(job.Adopt(mpi.World(), o))
	start := time.Now()
	note, err := func() (note string, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v", v)
			}
		}()
		return f(ctx, e.World())
	}()
	took := time.Since(start)
	e.Fail(err)
	if ferr := e.Finalize(ctx); err == nil {
		err = ferr
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	told := need(world.Allgather(ctx, fmt.Appendf(nil, "%d\x00%s\x00%s", took, note, text)))
	for _, b := range told {
		p := strings.SplitN(string(b), "\x00", 3)
		n := need(strconv.ParseInt(p[0], 10, 64))
		all = append(all, rankOutcome{p[2], p[1], time.Duration(n)})
	}
	return all
}

// newDir makes a directory for all ranks. Rank 0 calls f in the new directory.
func newDir(t *testing.T, world comm.Comm, name string, f func() error) string {
	t.Helper()
	dir := filepath.Join(os.Getenv(envJobDir), name)
	if world.Rank() == 0 {
		must(os.Mkdir(dir, 0o777))
		must(os.Chdir(dir))
		must(f())
	}
	must(world.Barrier(t.Context()))
	return dir
}

func startJob(t *testing.T) *mpi.Engine {
	t.Helper()
	if os.Getenv(envJobDir) == "" {
		t.Skip("runs under mpirun, see TestFailuresUnderMPI")
	}
	job := need(mpi.Init(nil))
	t.Cleanup(func() {
		must(os.Chdir("/"))
		must(job.Finalize(context.Background()))
	})
	return job
}
