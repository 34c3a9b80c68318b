package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// SweepOptions are the options of RunSweep.
type SweepOptions struct {
	Plan  SweepPlan
	State string        // file that keeps the results; an interrupted sweep continues from it
	World comm.Comm     // processes that act as ranks and all call RunSweep; nil: ranks are goroutines of this process
	Limit time.Duration // no run starts after this time; 0: no limit
	Retry bool          // repeat failed runs
	Anew  bool          // replace the content of State

	At  func(stage string, done, total int64) // called on the first rank
	Log func(string)

	fail   func(rank, run int) error // tests: an error of one rank in a run
	lustre *lustre                   // tests: replacement
}

// RunSweep runs the remaining points of a sweep and returns all results, including those before an error. On ranks other than the
// first it returns nil. If a run fails on any rank, RunSweep records the failure and continues with the next run.
func RunSweep(ctx context.Context, o SweepOptions) (res *Sweep, err error) {
	s := &sweeper{SweepOptions: o, first: o.World == nil || o.World.Rank() == 0, groups: map[[2]int]sweepGroup{}}
	if s.At == nil {
		s.At = func(string, int64, int64) {}
	}
	if s.Log == nil {
		s.Log = func(string) {}
	}
	if s.first {
		if s.lease, err = durable.Acquire(ctx, vfs.OS, o.State, durable.LeaseOptions{}); err == nil {
			defer func() { err = errors.Join(err, s.lease.Release()) }()
			err = s.begin(ctx)
		}
	}
	if err = s.agree(ctx, err); err != nil {
		return nil, err
	}
	if s.first {
		res = s.res
		defer func() { err = errors.Join(err, os.RemoveAll(res.Work)) }()
	}
	if err := s.share(ctx); err != nil {
		return res, err
	}
	for {
		n, err := s.next(ctx)
		if err == nil && n >= 0 {
			err = s.one(ctx, n)
		}
		if err != nil || n < 0 {
			return res, err
		}
	}
}

// sweeper is one call of RunSweep.
type sweeper struct {
	SweepOptions
	first  bool // this is the first rank, which decides, prints and stores results
	lease  *durable.Lease
	res    *Sweep
	fs     lustre
	began  time.Time
	points []SweepPoint

	groups map[[2]int]sweepGroup // groups of processes, by number of ranks and ranks per node
	task   *task                 // task of the last point
	key    string                // identifies the task
}

// agree returns an error on all processes if one has an error.
func (s *sweeper) agree(ctx context.Context, err error) error {
	if s.World == nil {
		return err
	}
	return comm.Agree(ctx, s.World, err)
}

// begin reads the stored results and begins a session.
func (s *sweeper) begin(ctx context.Context) error {
	if err := s.Plan.fill(); err != nil {
		return err
	}
	dir, err := filepath.Abs(s.Plan.Dir)
	if err != nil {
		return err
	}
	s.Plan.Dir = dir
	if err := CanSave(dir); err != nil {
		return err
	}
	s.fs = newLustre(dir)
	if s.lustre != nil {
		s.fs = *s.lustre
	}
	old, err := LoadSweep(s.State)
	if err != nil && !s.Anew {
		return err
	}
	base := newResults(&Options{Dir: dir})
	targets := s.Plan.Targets
	if targets == 0 {
		targets = s.fs.targets(ctx, dir)
	}
	if old != nil && !s.Anew {
		if what := s.Plan.differs(&old.Plan); what != "" {
			return fmt.Errorf("%s holds a sweep with a different plan: in this plan, %s", s.State, what)
		}
		s.res = old
		targets = old.Targets
	} else {
		id := make([]byte, 8)
		rand.Read(id)
		s.res = &Sweep{Version: sweepVersion, Plan: s.Plan, Targets: targets, Left: []SweepSkip{}, Runs: []SweepRun{},
			Work: filepath.Join(dir, "blobio-sweep-"+hex.EncodeToString(id))}
		if old != nil && ownWork(old.Work, old.Plan.Dir) {
			if err := os.RemoveAll(old.Work); err != nil {
				return err
			}
		}
	}
	if !ownWork(s.res.Work, dir) {
		return fmt.Errorf("%s: field work: %q is not a sweep directory in %s", s.State, s.res.Work, dir)
	}
	processes := 0
	if s.World != nil {
		processes = s.World.Size()
	}
	s.res.Sessions = append(s.res.Sessions, SweepSession{Date: base.Date, Host: base.Host, Go: base.Go, Blobio: base.Blobio, Processes: processes,
		FileSystem: base.FileSystem, Targets: targets})
	if s.Retry {
		s.res.Runs = slices.DeleteFunc(s.res.Runs, func(r SweepRun) bool { return r.Error != "" })
		s.res.Begun = nil
	}
	s.lay()
	if len(s.points) == 0 {
		return fmt.Errorf("no point of the sweep is possible: %s", s.res.Left[0].Why)
	}
	s.res.All = s.runs()
	if err := os.RemoveAll(s.res.Work); err != nil { // left by an interrupted session
		return err
	}
	if err := s.res.save(s.State, s.lease.Check); err != nil { // first, so that the next session knows the directory
		return err
	}
	return os.Mkdir(s.res.Work, 0o777)
}

// ownWork reports whether name is a work directory of a sweep in dir.
func ownWork(name, dir string) bool {
	id, ok := strings.CutPrefix(filepath.Base(name), "blobio-sweep-")
	_, err := hex.DecodeString(id)
	return ok && err == nil && len(id) == 16 && filepath.Dir(name) == dir
}

// lay lists points and runs of the plan.
func (s *sweeper) lay() {
	s.began = time.Now()
	s.Plan.Targets = s.res.Targets
	s.points, s.res.Left = s.Plan.Points(s.res.Targets)
	if s.res.Left == nil {
		s.res.Left = []SweepSkip{}
	}
	s.res.Points = len(s.points)
}

// runs returns the number of runs. All points run once, then all run again.
func (s *sweeper) runs() int { return len(s.points) * s.Plan.Repeats }

// share sends the first process's plan to all processes.
func (s *sweeper) share(ctx context.Context) (err error) {
	if s.World == nil {
		return nil
	}
	var b []byte
	if s.first {
		x := *s.res
		x.Runs, x.Sessions = nil, nil
		b, err = json.Marshal(&x)
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	if b, err = s.World.Bcast(ctx, 0, b); err != nil || s.first {
		return err
	}
	s.res = new(Sweep)
	if err := json.Unmarshal(b, s.res); err != nil {
		return err
	}
	s.Plan = s.res.Plan
	s.lay()
	return nil
}

// next returns the next run, -1 if there is none. The first rank decides and records the start of the run.
func (s *sweeper) next(ctx context.Context) (n int, err error) {
	n = -1
	if s.first {
		n, err = s.choose(ctx)
	}
	if s.World == nil {
		return n, err
	}
	if err := s.agree(ctx, err); err != nil {
		return -1, err
	}
	b, err := s.World.Bcast(ctx, 0, fmt.Append(nil, n))
	if err != nil {
		return -1, err
	}
	_, err = fmt.Sscan(string(b), &n)
	return n, err
}

func (s *sweeper) choose(ctx context.Context) (int, error) {
	for {
		n := s.res.missing()
		if err := ctx.Err(); err != nil {
			return -1, err
		}
		if n >= s.runs() || s.Limit > 0 && time.Since(s.began) >= s.Limit {
			return -1, nil
		}
		s.At("run "+fmt.Sprint(n+1), int64(len(s.res.Runs)), int64(s.runs()))
		if b := s.res.Begun; b == nil || b.Run != n {
			s.res.Begun = &SweepBegun{Run: n}
		}
		if s.res.Begun.Times++; s.res.Begun.Times <= mostBegun {
			return n, s.res.save(s.State, s.lease.Check)
		}
		if err := s.keep(s.run(n), fmt.Errorf("this run ended the session %d times", mostBegun)); err != nil {
			return -1, err
		}
	}
}

// run returns a run without figures.
func (s *sweeper) run(n int) SweepRun {
	p := n % len(s.points)
	axes := SweepPoint{}
	for _, a := range s.Plan.Varied() {
		axes[a] = s.points[p][a]
	}
	return SweepRun{Run: n, Point: p, Repeat: n / len(s.points), Session: len(s.res.Sessions) - 1, Date: now(), Axes: axes}
}

// keep records a run, only on the first rank.
func (s *sweeper) keep(r SweepRun, err error) error {
	if err != nil {
		r = SweepRun{Run: r.Run, Point: r.Point, Repeat: r.Repeat, Session: r.Session, Date: r.Date, Axes: r.Axes, Error: err.Error()}
		s.Log(fmt.Sprintf("run %d: %v", r.Run, err))
	}
	s.res.Runs, s.res.Begun = slices.Insert(s.res.Runs, s.res.position(r.Run), r), nil
	return s.res.save(s.State, s.lease.Check)
}

// one does one run and records the result. It returns an error only if the sweep must end: after an interrupt, or if the
// communication between processes failed.
func (s *sweeper) one(ctx context.Context, n int) error {
	run := s.run(n)
	dir := filepath.Join(s.res.Work, fmt.Sprintf("r%d", n))
	err := s.measure(ctx, &run, dir)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, comm.ErrBroken) && s.World != nil {
		return err
	}
	var kept error
	if s.first {
		if rerr := os.RemoveAll(dir); err == nil {
			err = rerr
		}
		kept = s.keep(run, err)
	}
	return s.agree(ctx, kept)
}
