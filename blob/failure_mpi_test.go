//go:build mpi && cgo && linux

package blob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/mpitest"
	"blobio/internal/vfs"
)

// The test binary starts itself under mpirun: TestFailuresUnderMPI and TestKilledUnderMPI are outside of
// it, tests whose name begins with TestInJob inside, in step in all processes.
const (
	envJobDir = "BLOBIO_TEST_JOB"  // directory in which the job works
	envJobDo  = "BLOBIO_TEST_WORK" // how a session is written: a key of sessions, a layout, and the number of nodes
	envKill   = "BLOBIO_TEST_KILL" // rank and operation at which it is killed
)

const jobRanks = 4 // those of tinyModel

// aSession is a way in which ranks write.
type aSession struct {
	layout Layout
	append bool // to a dataset, otherwise it replaces one
	nodes  int
	aggs   int  // aggregators of a node
	async  bool // flushes are in the background
}

func (s aSession) String() string {
	return fmt.Sprintf("%d,%v,%d,%d,%v", s.layout, s.append, s.nodes, s.aggs, s.async)
}

func parseSession(text string) (s aSession, err error) {
	_, err = fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "%d %t %d %d %t", &s.layout, &s.append, &s.nodes, &s.aggs, &s.async)
	return s, err
}

func sessions() (l []aSession) {
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		for _, add := range []bool{false, true} {
			l = append(l, aSession{layout, add, 1, 1, false}, aSession{layout, add, 2, 2, false})
		}
		l = append(l, aSession{layout, layout == VariableCentric, 1, 1, true})
	}
	return l
}

func (s aSession) options(fsys vfs.FS) *settings {
	o := &settings{Options: Options{Layout: s.layout, Workers: 1, Aggregators: s.aggs, Force: !s.append}, knobs: knobs{fs: fsys}}
	if s.async {
		o.syncMin = 1 // see flushOf
	}
	return o
}

// models are the dataset that is there, and what it becomes.
func (s aSession) models() (was, now *model) {
	was, now = tinyModel(2, 1), tinyModel(1, 2)
	if s.append {
		now = was.upTo(3)
	}
	return was, now
}

// begin makes the dataset that is there, by one process.
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

// look holds the dataset in a directory against what may be there, and lets the next writer have it.
func (s aSession) look(t *testing.T, dir, when string, k int) string {
	t.Helper()
	was, now := s.models()
	c := crash{fs: loaded(t, dir), when: fmt.Sprintf("%v: %s", s, when)}
	state := seen(t, c, "d.nc", was.canonical(false), now.canonical(false))
	nextWriter(t, crashCase{o: settings{Options: Options{Layout: s.layout, Workers: 1, Subfiles: s.nodes}}}, c, k, state, was, now)
	return state
}

// loaded is a copy of a directory.
func loaded(t *testing.T, dir string) *vfs.Mem {
	t.Helper()
	es, err := os.ReadDir(dir)
	must(err)
	mem := vfs.NewMem()
	for _, e := range es {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(err)
		f, err := mem.Create(e.Name())
		must(err)
		_, err = f.WriteAt(b, 0)
		must(errors.Join(err, f.Sync(), f.Close()))
	}
	must(mem.SyncDir("."))
	return mem
}

func runJob(t *testing.T, limit time.Duration, test string, env ...string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	must(err)
	return mpitest.Run(t, jobRanks, limit, env, exe, "-test.run", "^"+test+"$", "-test.v")
}

// TestFailuresUnderMPI: what fails on one rank, in whatever phase, is an error on all of them, soon, and the dataset is the old
// one or the new one.
func TestFailuresUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	for _, test := range []string{"TestInJobFaults", "TestInJobArguments"} {
		t.Run(test, func(t *testing.T) {
			out, err := runJob(t, 15*time.Minute, test, envJobDir+"="+t.TempDir())
			if err != nil || strings.Count(out, "--- PASS: "+test) != jobRanks {
				t.Fatalf("%v\n%s", err, out)
			}
			for l := range strings.Lines(out) {
				if strings.Contains(l, "sessions") {
					t.Log(strings.TrimSpace(l))
				}
			}
		})
	}
}

// rankOutcome is what came of a session on one rank.
type rankOutcome struct {
	err  string
	note string
	took time.Duration
}

// inJob runs f in a directory, on nodes of so many ranks, and returns what came of it by rank.
func inJob(t *testing.T, job *mpi.Engine, dir string, perNode int, f func(ctx context.Context, c comm.Comm) (string, error)) []rankOutcome {
	t.Helper()
	return inEngine(t, job, dir, &mpi.Options{RanksPerNode: perNode}, f)
}

// inEngine is inJob with an engine of these options.
func inEngine(t *testing.T, job *mpi.Engine, dir string, o *mpi.Options, f func(ctx context.Context, c comm.Comm) (string, error)) (all []rankOutcome) {
	t.Helper()
	ctx, world := t.Context(), job.World()
	must(os.Chdir(dir))
	e, err := job.Adopt(mpi.World(), o)
	must(err)
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
	told, err := world.Allgather(ctx, fmt.Appendf(nil, "%d\x00%s\x00%s", took, note, text))
	must(err)
	for _, b := range told {
		p := strings.SplitN(string(b), "\x00", 3)
		n, err := strconv.ParseInt(p[0], 10, 64)
		must(err)
		all = append(all, rankOutcome{p[2], p[1], time.Duration(n)})
	}
	return all
}

// newDir makes a directory that all ranks work in.
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
	job, err := mpi.Init(nil)
	must(err)
	t.Cleanup(func() {
		must(os.Chdir("/"))
		must(job.Finalize(context.Background()))
	})
	return job
}

func TestInJobFaults(t *testing.T) {
	job := startJob(t)
	world := job.World()
	counts := map[string]int{}
	for i, s := range sessions() {
		for who := range jobRanks {
			step := times(1+i%2, 1)
			for n := 1; ; n += step {
				name := fmt.Sprintf("s%d-%d-%d", i, who, n)
				dir := newDir(t, world, name, s.begin)
				all := inJob(t, job, dir, jobRanks/s.nodes, func(ctx context.Context, c comm.Comm) (note string, err error) {
					fsys := vfs.OS
					if c.Rank() == who {
						fsys = vfs.NewFault(fsys, func(op vfs.Op) error {
							if op.Seq != int64(n) {
								return nil
							}
							note = op.String()
							if mayIgnore(op) {
								note = "?" + note
							}
							return errDisk
						})
					}
					err = s.write(ctx, c, fsys)
					return note, err
				})
				hit := all[who].note
				if hit == "" {
					break
				}
				if world.Rank() == 0 {
					bad := 0
					for r, o := range all {
						if o.err != "" {
							bad++
						}
						if o.err != "" && !strings.Contains(o.err, errDisk.Error()) {
							t.Fatalf("%v: rank %d fails in %s: rank %d says %q", s, who, hit, r, o.err)
						}
						if o.took > time.Minute {
							t.Fatalf("%v: rank %d fails in %s: rank %d took %v", s, who, hit, r, o.took)
						}
					}
					if bad != 0 && bad != jobRanks || bad == 0 && hit[0] != '?' {
						t.Fatalf("%v: rank %d fails in %s: %+v", s, who, hit, all)
					}
					state := s.look(t, dir, fmt.Sprintf("rank %d fails in %s", who, hit), n)
					if bad == 0 && state != "now" {
						t.Fatalf("%v: rank %d fails in %s: no error, but the dataset reads as %q", s, who, hit, state)
					}
					counts[state]++
					must(os.RemoveAll(dir))
				}
			}
		}
	}
	if world.Rank() == 0 {
		fmt.Printf("sessions: %v\n", counts)
		if counts["was"] < 50 || counts["now"] == 0 {
			t.Errorf("%v", counts)
		}
	}
}

// TestInJobArguments: bad arguments, panics, and ranks that give up.
func TestInJobArguments(t *testing.T) {
	job := startJob(t)
	world := job.World()
	m := tinyModel(1, 2)
	count, longest := 0, time.Duration(0)
	if world.Rank() == 0 {
		defer func() { fmt.Printf("sessions: %d, the longest took %v\n", count, longest) }()
	}
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		for _, nodes := range []int{1, 2} {
			for i, f := range rankFaults(m) {
				name := fmt.Sprintf("%v, %d nodes, %s", l, nodes, f.name)
				dir := newDir(t, world, fmt.Sprintf("a%d-%d-%d", l, nodes, i), func() error { return nil })
				all := inJob(t, job, dir, jobRanks/nodes, func(ctx context.Context, c comm.Comm) (string, error) {
					err := f.f(ctx, c, &settings{Options: Options{Layout: l, Workers: 1}, knobs: knobs{fs: vfs.OS}})
					if f.want != nil && err != nil && !errors.Is(err, f.want) && f.want != errMine {
						return "", fmt.Errorf("%w, want %w", err, f.want)
					}
					return "", err
				})
				if world.Rank() != 0 {
					continue
				}
				for r, o := range all {
					if o.err == "" || strings.Contains(o.err, ", want ") && !strings.Contains(o.err, "blob: ") {
						t.Errorf("%s: rank %d: %q", name, r, o.err)
					}
					if f.want == errMine && !strings.Contains(o.err, "mine") || f.name == "panic" && !strings.Contains(o.err, "panic: no") {
						t.Errorf("%s: rank %d: %q", name, r, o.err)
					}
					if o.took > time.Minute {
						t.Errorf("%s: rank %d took %v", name, r, o.took)
					}
				}
				mem := loaded(t, dir)
				if state := seen(t, crash{fs: mem, when: name}, "d.nc", nil, nil); state != "none" {
					t.Errorf("%s: a dataset is there: %v", name, names(mem, "."))
				}
				count, longest = count+1, max(longest, all[0].took)
			}
		}
	}
}

// TestKilledUnderMPI: a rank is killed in each phase. mpirun ends the others, what was committed before
// can be read, or the new dataset if its record was written; Check names what is left, and the next
// writer clears it away.
func TestKilledUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	counts := map[string]int{}
	for i, s := range sessions() {
		for _, who := range []int{0, jobRanks / 2} {
			if who != 0 && s.nodes == 1 && !s.append {
				continue // the first rank of a node writes for all
			}
			t.Run(fmt.Sprintf("%v/rank %d", s, who), func(t *testing.T) {
				// run kills the rank in its operation n, in none if that is 0. With flushes in the background the
				// number of operations differs from run to run, as more or less of a file is synced in each: a
				// session that ended before its operation n must have ended well.
				run := func(n int) (dir, out string, ops int) {
					dir = t.TempDir()
					t.Chdir(dir)
					must(s.begin())
					start := time.Now()
					out, err := runJob(t, 5*time.Minute, "TestInJobKilled", envJobDir+"="+dir, envJobDo+"="+s.String(), fmt.Sprintf("%s=%d,%d", envKill, who, n))
					for l := range strings.Lines(out) {
						fmt.Sscanf(l, "operations %d", &ops)
					}
					killed, through := err != nil && !errors.Is(err, mpitest.ErrHung), err == nil && ops > 0
					if ok := through && (n == 0 || s.async && ops < n) || killed && n > 0 && ops == 0; !ok {
						t.Fatalf("killed at operation %d: %v after %v, %d operations\n%s", n, err, time.Since(start), ops, out)
					}
					return dir, out, ops
				}
				_, _, ops := run(0)
				// Each second or so, and not the same ones of all sessions.
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

// TestKilledNewUnderMPI: where there was no dataset, there is an uncommitted one, which Check names as such.
func TestKilledNewUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	for _, phase := range []string{"create", "put", "flush", "close"} {
		for _, l := range []Layout{VariableCentric, ProcessCentric} {
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
			if len(bad) == 0 || !errors.Is(bad[0].Err, ErrNotCommitted) {
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
	s, err := parseSession(os.Getenv(envJobDo))
	must(err)
	m := tinyModel(1, 2)
	must(mpi.Run(t.Context(), nil, func(ctx context.Context, c comm.Comm) error {
		die := func(after string) {
			if phase == after && c.Rank() == 2 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		w, err := createWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), s.options(vfs.OS))
		if err != nil {
			return err
		}
		die("create")
		for rec := range m.records {
			if err := m.putRecord(w, rec, c.Rank(), rec == 0); err != nil {
				return err
			}
			die("put")
			if err := w.Flush(ctx); err != nil {
				return err
			}
			die("flush")
		}
		err = w.Close(ctx)
		if c.Rank() != 2 {
			if err == nil {
				err = c.Send(ctx, 2, 0, nil)
			}
			if err == nil {
				_, err = c.Recv(ctx, 2, 0) // waits for a dead one
			}
			return err
		}
		for r := range c.Size() { // until the others are through with Close, too
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
	s, err := parseSession(os.Getenv(envJobDo))
	must(err)
	var who, n int
	_, err = fmt.Sscanf(os.Getenv(envKill), "%d,%d", &who, &n)
	must(err)
	must(mpi.Run(t.Context(), &mpi.Options{RanksPerNode: jobRanks / s.nodes}, func(ctx context.Context, c comm.Comm) error {
		fsys := vfs.OS
		var ops atomic.Int64 // of the flushes in the background, too
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
