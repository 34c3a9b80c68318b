package blob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
	"blobio/internal/subfile"
)

const envRace = "BLOBIO_TEST_RACE" // racer in JSON, for its process

// racer is one of several processes that write the same dataset.
type racer struct {
	Name, Source string
	Do           string // "replace", "append", "to blobs", "to canonical"
	Seed         int64  // seed of the racer's values
	Records      int64
	Layout       dataset.Layout
	Subfiles     int
	Mode         int
	Packed       bool   // compress the data, if the layout supports this
	Apart        bool   // give the ranks separate heaps
	Delays       uint64 // seed of random delays; 0: no delays
	Pace         int    // maximum delay in ms
	Client       int    // index of the client that runs the racer
	KillAt       int64  // the racer kills itself before this operation; 0: never

	killAfter  time.Duration // the parent kills the racer after this time; 0: never
	start, end int64         // start and end on the clock of the race
	outcome    raceOutcome
}

func (j *racer) String() string {
	return fmt.Sprintf("%s (seed %d, %v, %d subfiles, kill at %d or after %v): %s %s", j.Do, j.Seed, j.Layout, j.Subfiles, j.KillAt, j.killAfter, j.outcome.What, j.outcome.Err)
}

// raceOutcome is the result that a racer reports.
type raceOutcome struct {
	What   string // "committed", "unfinished", "in doubt", "in use", "exists", "not there", "error"; of its parent: "killed"
	Err    string
	Record int64 // number of the appended record
}

// committed reports whether the racer's commit is certainly in force (sure), and whether it may be in force (perhaps).
func (o raceOutcome) committed() (sure, perhaps bool) {
	switch o.What {
	case "committed", "unfinished":
		return true, true
	case "in doubt", "killed":
		return false, true
	}
	return false, false
}

func outcomeOf(err error) raceOutcome {
	o := raceOutcome{What: "committed"}
	if err == nil {
		return o
	}
	o.Err, o.What = err.Error(), "error"
	switch {
	case errors.As(err, new(*dataset.UnfinishedError)):
		o.What = "unfinished"
	case errors.As(err, new(*dataset.InDoubtError)):
		o.What = "in doubt"
	case errors.Is(err, dataset.ErrInUse):
		o.What = "in use"
	case errors.Is(err, dataset.ErrExist):
		o.What = "exists"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, dataset.ErrNotCommitted):
		o.What = "not there"
	}
	return o
}

// slow returns a file system that waits before each operation. It sometimes waits longer before locks, syncs, renames and
// writes, where the order of processes matters.
func (j *racer) slow() vfs.FS {
	if j.Delays == 0 {
		return vfs.OS
	}
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(j.Delays, 1))
	return vfs.NewFault(vfs.OS, func(op vfs.Op) error {
		if op.Seq == j.KillAt {
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Kill()
				select {} // waits for the end
			}
		}
		mu.Lock()
		d := time.Duration(rnd.IntN(1000*j.Pace)) * time.Microsecond
		switch op.Kind {
		case vfs.OpLock, vfs.OpSync, vfs.OpRename, vfs.OpWrite:
			if rnd.IntN(6) == 0 {
				d *= 6
			}
		}
		mu.Unlock()
		time.Sleep(d)
		return nil
	})
}

// work does the racer's task and returns the number of the appended record.
func (j *racer) work(ctx context.Context) (appended int64, err error) {
	m := tinyModel(j.Seed, j.Records)
	o := &dataset.Settings{Options: dataset.Options{Layout: j.Layout, Subfiles: j.Subfiles, Grouping: subfile.Blocks, Renames: j.Mode, Workers: 1}, Knobs: dataset.Knobs{Fs: j.slow(), Lease: leaseOn(j.Client)}}
	if j.Packed && j.Layout == dataset.ProcessCentric && j.Do != "to canonical" {
		o.Compress, o.Chunk = dataset.Compress{Method: dataset.ShuffleZstd}, 8
	}
	ranks := func(f func(ctx context.Context, c comm.Comm) error) error {
		return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
			if j.Apart {
				c = commtest.Isolate(c)
			}
			return f(ctx, c)
		})
	}
	switch j.Do {
	case "replace":
		o.Force = true
		return 0, ranks(func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, j.Name, o) })
	case "append":
		var first atomic.Int64
		o.Layout, o.Subfiles, o.Compress, o.Chunk = 0, 0, dataset.Compress{}, 0 // the dataset determines these
		err := ranks(func(ctx context.Context, c comm.Comm) error {
			w, err := resume.AppendWith(ctx, c, j.Name, m.parts(c.Rank()), o)
			if err != nil {
				return err
			}
			if c.Rank() == 0 {
				first.Store(w.Puts.Records())
			}
			if err := m.putRecord(w, w.Puts.Records(), c.Rank(), false); err != nil {
				w.Abort()
				return err
			}
			return w.Close(ctx)
		})
		return first.Load(), err
	}
	r, err := read.Open(ctx, j.Source, nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return 0, convert.ConvertWith(ctx, comm.Self(), r, j.Name, &convert.ConvertOptions{Blobs: j.Do == "to blobs", Layout: j.Layout, Grouping: subfile.Blocks, Subfiles: j.Subfiles, Compress: o.Compress, Force: true, Workers: 1}, dataset.Knobs{Chunk: o.Chunk, Fs: o.Fs, Lease: o.Lease})
}

// raceMain is the main program of a racer's process. It reports that it is ready, waits for the start, does its work, and
// reports the outcome. It ends with its parent.
func raceMain(job string) {
	var j racer
	must(json.Unmarshal([]byte(job), &j))
	fmt.Println("ready")
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		os.Exit(3)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	rec, err := j.work(context.Background())
	o := outcomeOf(err)
	o.Record = rec
	must(json.NewEncoder(os.Stdout).Encode(o))
	os.Exit(0)
}

// raceProcess is a racer's process that waits for the start.
type raceProcess struct {
	*racer
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bytes.Buffer
	errs bytes.Buffer
	read chan error
}

// begin starts the racer's process. The end of ctx kills the process.
func (j *racer) begin(ctx context.Context) (*raceProcess, error) {
	job, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	p := &raceProcess{racer: j, cmd: exec.CommandContext(ctx, os.Args[0], "-test.run=^TestRaces$"), out: new(bytes.Buffer), read: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), envRace+"="+string(job))
	p.cmd.Stderr = &p.errs
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	var ready [6]byte
	if _, err := io.ReadFull(out, ready[:]); err != nil || string(ready[:]) != "ready\n" {
		_ = p.cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("%q: %w", ready, err), p.cmd.Wait())
	}
	go func() {
		_, err := io.Copy(p.out, out)
		p.read <- err
	}()
	return p, nil
}

// finish starts the work, kills the process if this is planned, and waits for its end.
func (p *raceProcess) finish(ctx context.Context, clock *atomic.Int64) error {
	p.start = clock.Add(1)
	if _, err := p.in.Write([]byte{1}); err != nil {
		return err
	}
	var doomed atomic.Bool
	if p.killAfter > 0 {
		t := time.AfterFunc(p.killAfter, func() {
			doomed.Store(true)
			_ = p.cmd.Process.Kill() // fails if the process has already ended
		})
		defer t.Stop()
	}
	err := errors.Join(<-p.read, p.cmd.Wait())
	_ = p.in.Close()
	p.end = clock.Add(1)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: it hangs: %w", p.racer, ctx.Err())
	}
	if p.out.Len() > 0 { // the process ended before the kill
		return json.Unmarshal(p.out.Bytes(), &p.outcome)
	}
	if !doomed.Load() && p.KillAt == 0 || p.cmd.ProcessState.Exited() || p.errs.Len() > 0 {
		return fmt.Errorf("%s: %w\n%s", p.racer, err, p.errs.String())
	}
	p.outcome.What = "killed"
	return nil
}

// TestRaces lets processes write one dataset concurrently, with random delays, and may kill one of them. During and after the
// race, readers must find the commits that the processes reported, in some order. A process that cannot write must name the
// holder of the lease, and no files may remain. BLOBIO_RACES is the number of races, of two processes and of three. On shared
// file systems the processes run on several machines.
func TestRaces(t *testing.T) {
	if job := os.Getenv(envRace); job != "" {
		raceMain(job)
	}
	if crashtest.Places() == nil && !vfs.OS.Local(filepath.Join(t.TempDir(), "d.nc")) {
		t.Skip("the directory for temporary files is not known to be this machine's alone")
	}
	if err := exec.Command(os.Args[0], "-test.run=^$").Run(); err != nil { // a binary for another architecture under an emulator cannot start itself
		t.Skip("the test cannot start itself: ", err)
	}
	n := crashtest.Times(1, 10)
	if v, err := strconv.Atoi(os.Getenv("BLOBIO_RACES")); err == nil {
		n = v
	}
	sources := raceSources(t)
	for _, racers := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d", racers), func(t *testing.T) {
			table := raceTable{}
			turns := make(chan int)
			var wg sync.WaitGroup
			for range 4 { // races wait more than they compute, so four run at once
				wg.Go(func() {
					for k := range turns {
						t.Run(fmt.Sprintf("%04d", k), func(t *testing.T) {
							r := newRace(crashtest.FreshDir(t), sources, racers, k)
							if err := r.run(t.Context()); err != nil {
								t.Fatalf("%v\n%s", err, r)
							}
							table.add(r)
						})
					}
				})
			}
			for k := range n {
				turns <- k
			}
			close(turns)
			wg.Wait()
			t.Logf("%d races of %d:\n%s", n, racers, &table)
		})
	}
}

// raceSources writes a dataset for each racer to convert.
func raceSources(t *testing.T) (names []string) {
	for k := range 5 {
		j := racer{Name: filepath.Join(t.TempDir(), "source.nc"), Do: "replace", Seed: int64(10 + k), Records: int64(1 + k%2), Layout: dataset.Layout(k % 2), Subfiles: 1 + k%3}
		need(j.work(t.Context()))
		names = append(names, j.Name)
	}
	return names
}
