package bench

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"blobio/blob"
)

// TestPieces: a run in pieces measures nothing twice, and says when something is left.
func TestPieces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	var did []string
	run := func(o Options, cells ...string) error {
		o.Dir, o.Log, o.At, o.Runs = t.TempDir(), func(string) {}, func(string, int64, int64) {}, 2
		s := &session{Options: o, dir: o.Dir, name: "w", res: newResults(&o), began: time.Now()}
		if o.For == time.Nanosecond {
			s.began = s.began.Add(-time.Hour)
		}
		if err := s.resume(); err != nil {
			return err
		}
		s.skip("a peer", errors.New("not here"))
		for _, c := range cells {
			if err := s.cell(t.Context(), c, func(ctx context.Context) error {
				did = append(did, c)
				return s.race(ctx, false, runner{row: &Row{Data: c, What: "write", Who: vcName}, run: func(context.Context) (Took, error) { return Took{Seconds: 1}, nil }})
			}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := run(Options{Resume: file}, "a"); err != nil {
		t.Fatal(err)
	}
	if err := run(Options{Resume: file, For: time.Nanosecond}, "a", "b"); !errors.Is(err, ErrTime) {
		t.Errorf("%v, want that the time is up", err)
	}
	if err := run(Options{Resume: file}, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(did, []string{"a", "b"}) {
		t.Errorf("measured %q", did)
	}
	r, err := LoadResults(file)
	if err != nil || len(r.Rows) != 2 || len(r.Done) != 2 || len(r.Skipped) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	r.Runs = 3
	b, _ := r.encode()
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(Options{Resume: other}, "c"); err == nil {
		t.Error("rows of unlike numbers of runs in one table")
	}
}

// TestSteadiest: the turns that are kept are chosen by their spread, whoever was fast in them.
func TestSteadiest(t *testing.T) {
	a := &Row{Seconds: []float64{1, 9, 1, 5, 5, 5.1, 2}, Load: []float64{0, 1, 2, 3, 4, 5, 6}, Memory: []int64{0, 1, 2, 3, 4, 5, 6}}
	b := &Row{Seconds: []float64{1, 1, 1, 2, 2, 2, 2}, Phases: map[string][]float64{"put": {0, 1, 2, 3, 4, 5, 6}}}
	from, least := steadiest([]runner{{row: a}, {row: b}}, 3)
	if from != 3 || math.Abs(least-0.01) > 1e-12 {
		t.Errorf("from %d with a spread of %v", from, least)
	}
	a.window(from, 3)
	b.window(from, 3)
	if !slices.Equal(a.Seconds, []float64{5, 5, 5.1}) || !slices.Equal(a.Load, []float64{3, 4, 5}) || !slices.Equal(a.Memory, []int64{3, 4, 5}) || a.Turns != 7 {
		t.Errorf("%+v", a)
	}
	if !slices.Equal(b.Phases["put"], []float64{3, 4, 5}) {
		t.Errorf("%+v", b)
	}
	if s := spread([]float64{4, 1, 3, 2, 5}); math.Abs(s-2.0/3) > 1e-12 {
		t.Errorf("spread %v", s)
	}
}

// TestReused: what a later record overwrites is lent for a flush only, and the records repeat.
func TestReused(t *testing.T) {
	j := Job{Case: "G", Ranks: 2, Records: 3, Distinct: 1, Maps: MapSource{Cells: 120, Levels: 4}}
	task, err := j.load()
	if err != nil {
		t.Fatal(err)
	}
	if o := task.options(blob.VariableCentric); o.Retain != blob.LendUntilFlush {
		t.Errorf("lent as %v", o.Retain)
	}
	d, err := task.fill(0)
	if err != nil {
		t.Fatal(err)
	}
	for v := range d {
		if len(d[v]) != 1 {
			t.Fatalf("%d records of %s in memory", len(d[v]), task.c.Vars[v].Name)
		}
	}
	all, err := (&Job{Case: "G", Ranks: 2, Records: 3, Maps: j.Maps}).load()
	if err != nil {
		t.Fatal(err)
	}
	whole := int64(0)
	for r := range 2 {
		d, err := all.fill(r)
		if err != nil {
			t.Fatal(err)
		}
		whole += d.bytes()
	}
	if got := task.bytes(); got != whole {
		t.Errorf("%d bytes in the file, want %d", got, whole)
	}
}

// TestHintsReachPrograms: E3SM-IO takes no hints but by the environment.
func TestHintsReachPrograms(t *testing.T) {
	dir := t.TempDir()
	env, err := Tuning{IO: "romio321", Hints: []string{"a=1", "b=two"}}.environ(dir)
	name := filepath.Join(dir, "romio.hints")
	if err != nil || !slices.Equal(env, []string{"PNETCDF_HINTS=a=1;b=two", "ROMIO_HINTS=" + name}) {
		t.Fatalf("%q, %v", env, err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "a 1\nb two\n" {
		t.Errorf("%q, %v", b, err)
	}
	if env, err := (Tuning{IO: "ompio"}).environ(dir); env != nil || err != nil {
		t.Errorf("%q, %v", env, err)
	}
}
