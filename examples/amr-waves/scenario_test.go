package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

// scenario is a run with faults.
type scenario struct {
	sub     versioned.Subcycling
	config  versioned.Config
	keep    [2]versioned.Retention
	steps   int64
	ranks   int
	single  bool // single boxes can be recomputed
	handled bool // the run continues if a save fails
	dir     bool
	copies  int
	kill    int64
	power   bool // a kill is also a power loss
	faults  []*fault
}

func (s *scenario) String() string {
	out := fmt.Sprintf("%+v %+v keep %+v steps %d ranks %d single %v handled %v dir %v copies %d kill %d power %v", s.sub, s.config, s.keep, s.steps, s.ranks, s.single, s.handled, s.dir, s.copies, s.kill, s.power)
	for _, f := range s.faults {
		out += fmt.Sprintf("\n  %s at %v found %v pick %d rot %v: %v %v", f.kind, f.at, f.found, f.pick, f.rot, f.done.Load(), f.told.Load())
	}
	return out
}

func (s *scenario) spec() versioned.HierarchySpec {
	return versioned.HierarchySpec{Name: "u", Dim: 1, Comps: []string{"u", "v"}, Dx: 1, Chunk: 512, Subcycling: s.sub, Config: s.config, Keep: s.keep[0], Snapshots: s.keep[1]}
}

// job runs one job of the scenario.
func (s *scenario) job(ranks int, st *versioned.Store, fs *faults) (out []byte, stats *recovery.Stats, err error) {
	res := make([][]byte, ranks)
	err = comm.Run(context.Background(), ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		x := newLattice(c, s.sub, fs)
		var solver recovery.Solver = struct{ recovery.Solver }{x}
		if s.single {
			solver = boxLattice{x}
		}
		r, err := recovery.Open(ctx, c, st, s.spec(), solver, &recovery.Options{Clean: clean})
		if err != nil {
			return err
		}
		if x.run = r; s.handled {
			r.Registry.On(recovery.Pred{"kind": "store"}, 0, func(context.Context, recovery.Event) error { return nil })
		}
		if c.Rank() == 0 {
			stats = &r.Stats
		}
		if err := r.Go(ctx, s.steps); err != nil {
			return err
		}
		res[c.Rank()] = x.result()
		return r.Close(ctx)
	})
	for i := range res {
		if err == nil && !bytes.Equal(res[i], res[0]) {
			err = fmt.Errorf("rank %d ends otherwise than rank 0: %w", i, errWrong)
		}
	}
	return res[0], stats, err
}

var errWrong = errors.New("wrong")

// run runs the jobs of the scenario until one completes the run.
func (s *scenario) run(seed int64) (out []byte, stats *recovery.Stats, err error) {
	fs := &faults{list: s.faults}
	if !s.dir {
		return s.job(s.ranks, &versioned.Store{Copies: s.copies}, fs)
	}
	d := &disk{mem: vfs.NewMem(), rng: rand.New(rand.NewSource(seed))}
	if err := d.mem.MkdirAll("d"); err != nil {
		return nil, nil, err
	}
	if err := d.mem.SyncDir("."); err != nil {
		return nil, nil, err
	}
	d.kill.Store(s.kill)
	for ranks := s.ranks; ; ranks = ranks%4 + 1 {
		fs.disk = d
		out, stats, err = s.job(ranks, &versioned.Store{Dir: "d", FS: vfs.NewFault(d.mem, d.hook)}, fs)
		died := err != nil && strings.Contains(err.Error(), "this rank is gone")
		if err == nil || !died && !d.dead.Load() {
			return out, stats, err
		}
		for _, f := range s.faults { // only the next job notices the fault
			f.told.Store(false)
		}
		next := &disk{mem: d.mem, rng: d.rng}
		if d.dead.Load() && s.power {
			next.mem = d.mem.CrashClone(vfs.CrashOptions{Rand: d.rng})
		} else if !d.dead.Load() {
			next.kill.Store(d.kill.Load())
			next.armed.Store(d.armed.Load())
		}
		d = next
	}
}

func drawn(rng *rand.Rand) *scenario {
	s := &scenario{sub: [...]versioned.Subcycling{{Levels: 3, Ratio: 2}, {Levels: 3, Ratio: 2}, {Levels: 2, Ratio: 3}, {Levels: 4, Ratio: 2}, {Levels: 2, Ratio: 1}, {Levels: 1, Ratio: 2}}[rng.Intn(6)],
		steps: 6, ranks: 1 + rng.Intn(5), single: rng.Intn(2) == 0, handled: rng.Intn(2) == 0, dir: rng.Intn(3) > 0}
	for l := range s.sub.Levels {
		s.config.Cadence = append(s.config.Cadence, rng.Intn(2+s.sub.Steps(l)))
	}
	if s.config.Cadence[0] == 0 || rng.Intn(2) == 0 {
		s.config.Cadence[0] = 1
	}
	s.config.Extra, s.config.EveryRegrid = float64(rng.Intn(2))/2, rng.Intn(2) == 0
	s.config.PerBox = s.config.Cadence.EveryStep() && rng.Intn(2) == 0
	if rng.Intn(3) == 0 {
		s.keep = [2]versioned.Retention{{Last: 1 + rng.Intn(4)}, {Last: 1 + rng.Intn(4)}}
	}
	if !s.dir && rng.Intn(2) == 0 {
		s.copies = 1
	}
	if s.dir && rng.Intn(3) == 0 {
		s.kill, s.power = 1+rng.Int63n(150), rng.Intn(2) == 0
	}
	var all []recovery.Moment
	for c := range s.steps {
		for x := range s.sub.Order() {
			all = append(all, recovery.Moment{Coarse: c, Step: x})
		}
	}
	for range 1 + rng.Intn(3) {
		at := rng.Intn(len(all))
		kinds := []string{"point", "data", "failed", "panic", "permanent", "metadata", "late", "latent", "late"}
		if s.dir {
			kinds = append(kinds, "dies", "full")
		}
		f := &fault{kind: kinds[rng.Intn(len(kinds))], at: all[at], found: all[min(at+1+rng.Intn(9), len(all)-1)], pick: rng.Intn(1000), rot: s.dir && rng.Intn(5) == 0}
		if rng.Intn(3) == 0 && len(s.faults) > 0 { // combine it with another fault
			o := s.faults[0]
			if f.at = o.at; rng.Intn(2) == 0 && !before(o.found, f.at, s.sub) {
				f.at = all[at]
				f.found = o.found
			}
		}
		if before(f.found, f.at, s.sub) {
			f.found = f.at
		}
		s.faults = append(s.faults, f)
	}
	return s
}

// TestLattice runs the lattice with one to three random failures of any kind, found at once or late, with random cadences and a
// short retention. Data files are damaged, disks are full, ranks die, and kills interrupt recoveries. Each run ends with the
// bytes of the undisturbed run. An error is allowed only if excused returns true.
func TestLattice(t *testing.T) {
	want := map[versioned.Subcycling][]byte{}
	errs, ended := map[string]int{}, 0
	for seed := range int64(crashtest.Times(60, 3000)) {
		s := drawn(rand.New(rand.NewSource(seed)))
		if want[s.sub] == nil {
			plain := scenario{sub: s.sub, steps: s.steps, config: versioned.Config{Cadence: make(versioned.Cadence, s.sub.Levels)}}
			res, _, err := plain.job(1, nil, &faults{})
			if err != nil {
				t.Fatal(err)
			}
			want[s.sub] = res
		}
		got, stats, err := s.run(seed)
		unnoticed := slices.ContainsFunc(s.faults, func(f *fault) bool {
			return (f.kind == "late" || f.kind == "latent") && f.done.Load() && !f.told.Load()
		})
		switch {
		case err == nil && unnoticed:
		case err == nil && !bytes.Equal(got, want[s.sub]) || errors.Is(err, errWrong):
			t.Errorf("seed %d: another result, %v\n%v\n%+v", seed, err, s, stats.Recoveries)
		case err == nil:
			ended++
		default:
			text := err.Error()
			errs[text[:min(len(text), 150)]]++
			if !s.excused() {
				t.Errorf("seed %d: %v\n%v", seed, err, s)
			}
		}
	}
	t.Logf("%d ended right, %v", ended, errs)
}

// excused reports whether the run may end with an error.
func (s *scenario) excused() bool {
	failed := []string{"failed", "panic", "permanent"}
	for i, f := range s.faults {
		if f.kind == "permanent" && (s.ranks < 4 || s.dir) { // all ranks may have been lost
			return true
		}
		for _, o := range s.faults[:i] { // the same failure twice exceeds the limit
			if o.at == f.at && slices.Contains(failed, f.kind) && slices.Contains(failed, o.kind) {
				return true
			}
		}
		if f.rot || f.kind == "full" || (f.kind == "late" || f.kind == "latent") && s.keep[0].Last > 0 {
			return true
		}
	}
	return false
}
