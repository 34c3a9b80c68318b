package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

// asProgram makes the test binary act as the program, for tests that kill it.
const asProgram = "BLOBIO_TEST_AS_AMR_WAVES"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	crashtest.Main(m)
}

var cadences = []versioned.Cadence{{1, 1, 1}, {1, 0, 0}, {1, 2, 4}, {1, 1, 0}, {2, 0, 1}, {1, 0, 2}, {0, 1, 1}}

// on runs the solver on ranks of this process.
func on(ranks int, s settings) (res []byte, run *recovery.Run, err error) {
	all := make([][]byte, ranks)
	err = comm.Run(context.Background(), ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		w, r, err := solve(ctx, c, s)
		if c.Rank() == 0 {
			run = r
		}
		if err == nil {
			all[c.Rank()] = w.result()
		}
		return err
	})
	if err != nil {
		return nil, run, err
	}
	for r := range all {
		if !bytes.Equal(all[r], all[0]) {
			return nil, run, fmt.Errorf("rank %d has another state than rank 0", r)
		}
	}
	return all[0], run, nil
}

// solved runs the solver like on, but returns the final values as numbers.
func solved(ranks int, s settings) (out []float64, run *recovery.Run, err error) {
	err = comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		w, r, err := solve(ctx, c, s)
		if err == nil && c.Rank() == 0 {
			run = r
			for _, f := range w.levels {
				for i := range f.boxes {
					out = append(out, f.data(&f.boxes[i], f.now)...)
				}
			}
		}
		return err
	})
	return out, run, err
}

func undisturbed(t testing.TB, steps int64) []byte {
	t.Helper()
	res, _, err := on(1, settings{steps: steps, cadence: cadences[0]})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func moments(coarse int64) (out []recovery.Moment) {
	for at := range sub.Order() {
		out = append(out, recovery.Moment{Coarse: coarse, Step: at})
	}
	return out
}

// each calls f for every combination of a cadence, a kind and a moment of an error. For a late error it also varies the time
// until the error is found. Without BLOBIO_LONG it calls f for every 23rd combination.
func each(kinds []string, f func(name string, cadence versioned.Cadence, kind string, at, found recovery.Moment, i int)) {
	seq := slices.Concat(moments(1), moments(2), moments(3), moments(4))
	for ci, cadence := range cadences {
		for ki, kind := range kinds {
			for i, at := range seq[:2*len(moments(1))] {
				later := []int{0}
				if kind == "late" || kind == "latent" {
					later = []int{1, 2, 5, 9, 13}
				}
				for _, d := range later {
					if found := seq[i+d]; crashtest.Long() || (i+3*ci+5*ki+d)%23 == 0 {
						f(fmt.Sprintf("cadence %v, %s in %v, found in %v", cadence, kind, at, found), cadence, kind, at, found, i)
					}
				}
			}
		}
	}
}

// TestEveryError runs the solver with every mode and moment of an error, every cadence, number of ranks, and time until
// detection. The run ends with the same bytes as the undisturbed run, or fails with ErrNoRecovery if there is no version to
// return to. It repeats exactly the steps of the plan.
func TestEveryError(t *testing.T) {
	const steps = 5
	want := undisturbed(t, steps)
	n, refused, scopes := 0, 0, map[string]int{}
	each(modes, func(name string, cadence versioned.Cadence, mode string, at, found recovery.Moment, i int) {
		got, run, err := on(3, settings{steps: steps, cadence: cadence, fail: injector{mode: mode, at: at, found: found, rank: 1 + i%2}})
		if errors.Is(err, recovery.ErrNoRecovery) && cadence[0] != 1 {
			refused++
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%s: another result", name)
		}
		n++
		if rec := run.Stats.Recoveries; mode != "point" && len(rec) != 1 {
			t.Fatalf("%s: %+v", name, rec)
		} else if mode != "point" {
			scopes[mode+" "+rec[0].Plan.Scope.String()]++
			if r := rec[0]; r.Plan.Scope != recovery.Box && r.Event.Kind != "metadata" && len(r.Plan.Redo) != run.Stats.Again {
				t.Fatalf("%s: %d steps again, the plan has %v", name, run.Stats.Again, r.Plan.Redo)
			}
		}
	})
	t.Logf("%d runs, %d refused; %v", n, refused, scopes)
	if n < 40 || scopes["data box"] == 0 || scopes["data levels"]+scopes["late levels"] == 0 || scopes["late global"] == 0 {
		t.Errorf("%d runs, %v", n, scopes)
	}
}

// savesOf returns the number of versions that the cadence requires. At the beginning of each step of a level for which the
// cadence requires a save, that level and all finer levels are saved.
func savesOf(s *settings) (n int) {
	for c := range s.steps {
		for at := range sub.Order() {
			if !s.cadence.Saved(at, c) {
				continue
			}
			made := false // the version is already saved with a coarser level
			for l := range at.Level {
				made = made || sub.Begins(l, at) && s.cadence.Saved(versioned.Step{Level: l, Index: sub.At(l, at)}, c)
			}
			if !made {
				n += levels - at.Level
			}
		}
	}
	return n
}

// TestSaves checks that versions are saved exactly when the cadence requires it, and as often as the cost model says.
func TestSaves(t *testing.T) {
	for _, cadence := range append([]versioned.Cadence{{0, 1, 0}, {3, 1, 2}}, cadences...) {
		s := settings{steps: 4, cadence: cadence}
		_, run, err := on(2, s)
		if err != nil {
			t.Fatal(err)
		}
		if n, want := run.Stats.Versions, savesOf(&s); n != want {
			t.Errorf("cadence %v: %d versions, want %d", cadence, n, want)
		}
		m := recovery.Model{Ratio: ratio, Put: []float64{1, 1, 1}, Step: []float64{1, 1, 1}}
		if due, err := m.SaveTime(cadence); err != nil || cadence[0] == 1 && run.Stats.Versions != int(s.steps)*int(due) {
			t.Errorf("cadence %v: %d versions in %d coarse steps, the model counts %v in one, %v", cadence, run.Stats.Versions, s.steps, due, err)
		}
	}
}

// TestForward: forward recovery repeats no steps, but makes a box from coarser data. The result differs from the undisturbed run
// by at most the estimated error.
func TestForward(t *testing.T) {
	want, _, err := solved(2, settings{steps: 2, cadence: cadences[0]})
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []int{0, 3} {
		s := settings{steps: 2, cadence: versioned.Cadence{1, 0, 0}, options: recovery.Options{Forward: true}}
		s.fail = injector{mode: "data", at: recovery.Moment{Coarse: 1, Step: versioned.Step{Level: 2, Index: index}}}
		got, run, err := solved(2, s)
		if err != nil || run.Stats.Forward != 1 || run.Stats.Again > 0 || len(got) != len(want) {
			t.Fatalf("%v; %+v", err, run.Stats)
		}
		worst := 0.0
		a, b := got, want
		for i := range a {
			worst = max(worst, math.Abs(a[i]-b[i]))
		}
		if !(worst > 0 && worst <= run.Stats.Estimate) {
			t.Errorf("step %d: the end differs by %v, estimated was %v", index, worst, run.Stats.Estimate)
		}
		t.Logf("step %d: differs by %.4f, estimated %.4f", index, worst, run.Stats.Estimate)
	}
}

// TestSystemic tests three options: Confirm, if the same point is wrong each time; BoxLimit, for repeated errors in a box; and
// Systemic, the reaction if recomputation does not help.
func TestSystemic(t *testing.T) {
	want := undisturbed(t, 3)
	s := settings{steps: 3, cadence: cadences[0], fail: injector{mode: "stuck", at: recovery.Moment{Coarse: 1, Step: versioned.Step{Level: 2, Index: 1}}}}
	for _, c := range []struct {
		knob     bool
		times    int // number of times that the error occurs
		diagnose error
		want     error
		scope    recovery.Scope // scope of the last recovery
	}{
		{true, 1, nil, recovery.ErrAborted, 0},
		{false, 1, nil, nil, recovery.Box},
		{false, 3, nil, nil, recovery.Global},
		{false, 1000, nil, recovery.ErrAborted, recovery.Global},
		{false, 1, errors.New("the disk burns"), recovery.ErrAborted, 0},
	} {
		x := s
		x.systemic, x.fail.times = c.knob, c.times
		x.options.Diagnose = func(context.Context, recovery.Event) error { return c.diagnose }
		got, run, err := on(2, x)
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || !bytes.Equal(got, want)) {
			t.Fatalf("%+v: %v", c, err)
		}
		if rec := run.Stats.Recoveries; c.want == nil && (len(rec) != c.times || rec[len(rec)-1].Plan.Scope != c.scope) {
			t.Errorf("%+v: %+v", c, rec)
		}
	}
}

// TestDamagedVersion: a damaged version is reported as an event and marked, and the run returns to an older snapshot. If all
// snapshots are damaged, the run returns an error, never wrong bytes.
func TestDamagedVersion(t *testing.T) {
	want := undisturbed(t, 5)
	at := recovery.Moment{Coarse: 3, Step: versioned.Step{Level: 1, Index: 1}}
	for _, from := range []int64{0, 2, 3} { // versions from this coarse step on are damaged
		mem := vfs.NewMem()
		if err := mem.MkdirAll("d"); err != nil {
			t.Fatal(err)
		}
		s := settings{steps: 5, cadence: versioned.Cadence{1, 0, 0}, store: &versioned.Store{Dir: "d", FS: mem}}
		s.fail = injector{mode: "panic", at: at, rank: 1}
		s.fail.before = func(w *water) { // called at the moment of the failure
			damage(t, mem, "d/water.level0", from)
		}
		got, run, err := on(2, s)
		if from == 0 {
			if !errors.Is(err, recovery.ErrNoRecovery) {
				t.Fatalf("all versions are damaged: %v", err)
			}
			continue
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("damaged from %d on: another result, or %v", from, err)
		}
		if run.Stats.Again <= 7 {
			t.Errorf("%d steps again", run.Stats.Again)
		}
	}
}

// damage flips a byte of each data file of versions made from a coarse step on.
func damage(t *testing.T, mem *vfs.Mem, dir string, from int64) {
	list, err := mem.ReadDir(dir)
	if err != nil {
		t.Error(err)
		return
	}
	for _, e := range list {
		var g, v, r int64
		if n, _ := fmt.Sscanf(e.Name(), "g%d-v%d-r%d.fti", &g, &v, &r); n != 3 || v < from+1 {
			continue
		}
		f, err := mem.OpenRW(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Error(err)
			return
		}
		size, _ := f.Size()
		b := []byte{0}
		_, rerr := f.ReadAt(b, size/2)
		b[0] ^= 8
		_, werr := f.WriteAt(b, size/2)
		if err := errors.Join(rerr, werr, f.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestRankDies: if a rank is lost, all other ranks get an event, and the run ends. The next run, on fewer ranks, ends with the
// same bytes as an undisturbed run.
func TestRankDies(t *testing.T) {
	want := undisturbed(t, 5)
	mem := vfs.NewMem()
	if err := mem.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	var told atomic.Int64
	s := settings{steps: 5, cadence: versioned.Cadence{1, 0, 2}, store: &versioned.Store{Dir: "d", FS: mem}, told: &told}
	s.fail = injector{mode: "dies", at: recovery.Moment{Coarse: 3, Step: versioned.Step{Level: 2, Index: 2}}, rank: 1}
	if _, _, err := on(4, s); err == nil || told.Load() != 3 {
		t.Fatalf("%v; %d ranks were told", err, told.Load())
	}
	s.fail = injector{}
	got, run, err := on(3, s)
	if err != nil || !bytes.Equal(got, want) || run.Stats.Steps != 2*7 {
		t.Errorf("%v; %d steps", err, run.Stats.Steps)
	}
}

// TestFullStore: if the store cannot be written, the run ends on all ranks, unless the program has a handler. With a handler the
// run continues; after a later failure it repeats the steps that were not saved.
func TestFullStore(t *testing.T) {
	want := undisturbed(t, 5)
	for _, handled := range []bool{false, true} {
		mem := vfs.NewMem()
		if err := mem.MkdirAll("d"); err != nil {
			t.Fatal(err)
		}
		full := errors.New("no space left")
		var clock atomic.Int64
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpCreate && clock.Load() == 2 {
				return full
			}
			return nil
		})
		s := settings{steps: 5, cadence: cadences[0], store: &versioned.Store{Dir: "d", FS: fsys}, handled: handled}
		s.fail = injector{mode: "data", at: recovery.Moment{Coarse: 2, Step: versioned.Step{Level: 2, Index: 2}}, clock: &clock}
		got, run, err := on(2, s)
		switch {
		case !handled && (err == nil || !strings.Contains(err.Error(), full.Error())):
			t.Errorf("not told: %v", err)
		case handled && (err != nil || !bytes.Equal(got, want) || run.Stats.Unsaved == 0 || run.Stats.Again < 6):
			t.Errorf("%v; %+v", err, run.Stats)
		}
	}
}

func TestStory(t *testing.T) {
	var out strings.Builder
	if err := story([]string{"-dir", t.TempDir(), "-cadence", "1,0,2", "-steps", "5", "-cells", "8"}, &out); err != nil || strings.Count(out.String(), "equals the undisturbed run") != len(modes) {
		t.Fatalf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := story([]string{"-measure", "-steps", "2", "-ranks", "2", "-cells", "8", "-dir", t.TempDir()}, &out); err != nil || strings.Count(out.String(), "\n") != 5 {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, args := range [][]string{{"-cadence", "1"}, {"-at", "x"}, {"-cells", "12"}} {
		if err := story(args, &out); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
