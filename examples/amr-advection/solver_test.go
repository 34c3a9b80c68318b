package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/recovery"
	"blobio/versioned"
)

var four = recovery.Subcycling{Levels: 4, Ratio: 2}

func solve(t testing.TB, ranks int, o settings) (*solver, []byte, error) {
	t.Helper()
	all := make([]*solver, ranks)
	res := make([][]byte, ranks)
	errs := make([]error, ranks)
	err := comm.Run(context.Background(), ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		s, err := newSolver(ctx, c, o)
		if err != nil {
			return err
		}
		err = s.run(ctx)
		errs[c.Rank()] = err
		all[c.Rank()], res[c.Rank()] = s, s.result()
		if errors.Is(err, errAborted) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for r := range res {
		if !bytes.Equal(res[r], res[0]) {
			t.Fatalf("rank %d has another state than rank 0", r)
		}
	}
	return all[0], res[0], errs[0]
}

var cadences = []recovery.Cadence{{1, 1, 1, 1}, {1, 0, 0, 0}, {1, 1, 2, 4}, {1, 0, 1, 0}, {2, 0, 0, 1}}

// For every place of the error, cadence and failure mode the final fields are those of the undisturbed run, bit by
// bit, and the steps that were taken again are those that the planner said.
func TestEveryError(t *testing.T) {
	const ranks = 4
	base := settings{sub: four, steps: 4, regrid: 2}
	base.cadence = cadences[0]
	clean, want, err := solve(t, ranks, base)
	if err != nil {
		t.Fatal(err)
	}
	for l, v := range clean.levels {
		if len(v.tiles) == 0 {
			t.Fatalf("level %d has no boxes", l)
		}
	}
	modes := []string{"data", "point", "temporary", "permanent", "metadata"}
	if os.Getenv("BLOBIO_LONG") == "" {
		modes = []string{"data", "temporary", "permanent"}
	}
	steps := slices.Collect(four.Order())
	n := 0
	for ci, cadence := range cadences {
		for _, mode := range modes {
			for i, at := range steps {
				if os.Getenv("BLOBIO_LONG") == "" && (i+ci)%7 != 0 {
					continue
				}
				o := base
				o.cadence = cadence
				o.fail = failure{Mode: mode, Coarse: 1 + int64(i+ci)%2, Step: at, Rank: 1 + i%3}
				s, got, err := solve(t, ranks, o)
				name := fmt.Sprintf("cadence %v, %s in %v of coarse step %d", cadence, mode, at, o.fail.Coarse)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("%s: another result", name)
				}
				n++
				if mode == "point" || mode == "metadata" {
					if s.r.Stats.Again > 0 {
						t.Fatalf("%s: %d steps were taken again", name, s.r.Stats.Again)
					}
					continue
				}
				p := s.plan()
				if p == nil {
					t.Fatalf("%s: nothing happened", name)
				}
				if n := s.r.Stats.Again; p.Scope != recovery.Box && n != len(p.Redo) {
					t.Fatalf("%s: %d steps were taken again, the plan is %v", name, n, p.Redo)
				}
				if mode == "permanent" {
					continue // boxes have other owners, and are saved once more
				}
				if n, want := s.r.Stats.Versions, savesOf(&o, p); n != want {
					t.Fatalf("%s: %d versions, want %d", name, n, want)
				}
			}
		}
	}
	t.Logf("%d runs", n)
}

// savesOf is how many versions the cadence asks for: one of a level at the beginning of each step that is due, and once more of those that
// a plan goes over again.
func savesOf(o *settings, p *recovery.Plan) (n int) {
	due := func(at recovery.Step, coarse int64) {
		if !o.cadence.Saved(at, coarse) {
			return
		}
		for l := range at.Level {
			if o.sub.Begins(l, at) && o.cadence.Saved(recovery.Step{Level: l, Index: o.sub.At(l, at)}, coarse) {
				return // made with that
			}
		}
		n += o.sub.Levels - at.Level
	}
	for c := range o.steps {
		for at := range o.sub.Order() {
			due(at, c)
		}
	}
	if p == nil {
		return n
	}
	for i, c := 0, p.Coarse; i < len(p.Redo); i++ {
		at := p.Redo[i]
		if i > 0 && at.Level == 0 {
			c++
		}
		if c > p.Coarse || !o.sub.Begins(p.From.Level, at) {
			due(at, c)
		}
	}
	return n
}

// The solver saves when the cadence says so, as often as the cost model counts, and at no other time.
func TestSaves(t *testing.T) {
	for _, cadence := range append([]recovery.Cadence{{0, 1, 0, 1}, {3, 1, 2, 0}}, cadences...) {
		o := settings{sub: four, steps: 4, regrid: 2, cadence: cadence}
		s, _, err := solve(t, 2, o)
		if err != nil {
			t.Fatal(err)
		}
		if n, want := s.r.Stats.Versions, savesOf(&o, nil); n != want {
			t.Errorf("cadence %v: %d versions, want %d", cadence, n, want)
		}
		m := recovery.Model{Ratio: ratio, Put: []float64{1, 1, 1, 1}, Step: []float64{1, 1, 1, 1}}
		if due, err := m.SaveTime(cadence); err != nil || cadence[0] == 1 && s.r.Stats.Versions != int(o.steps)*int(due) {
			t.Errorf("cadence %v: %d versions in %d coarse steps, the model counts %v in one, %v", cadence, s.r.Stats.Versions, o.steps, due, err)
		}
	}
}

// A run that ends with the loss of a node is gone on with by fewer ranks, from the last snapshot.
func TestRelaunch(t *testing.T) {
	base := settings{sub: four, steps: 4, regrid: 2, cadence: recovery.Cadence{1, 0, 0, 0}}
	_, want, err := solve(t, 4, base)
	if err != nil {
		t.Fatal(err)
	}
	o := base
	o.store = &versioned.Store{Dir: t.TempDir()}
	o.fail = failure{Mode: "abort", Coarse: 2, Step: recovery.Step{Level: 3, Index: 5}}
	if _, _, err := solve(t, 4, o); !errors.Is(err, errAborted) {
		t.Fatal(err)
	}
	o.fail = failure{}
	_, got, err := solve(t, 3, o)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("another result")
	}
}

// The master test for the loss of nodes: the job dies in each step, a node's directory is gone, and the run that goes on ends with
// the bytes of the undisturbed one.
func TestLostNode(t *testing.T) {
	const ranks = 4
	base := settings{sub: four, steps: 4, regrid: 2}
	base.cadence = cadences[0]
	_, want, err := solve(t, ranks, base)
	if err != nil {
		t.Fatal(err)
	}
	for ci, cadence := range cadences {
		for i, at := range slices.Collect(four.Order()) {
			if os.Getenv("BLOBIO_LONG") == "" && (ci > 1 || i != (3*ci+5)%15) {
				continue
			}
			o := base
			o.cadence = cadence
			fail := failure{Coarse: 1 + int64(i+ci)%3, Step: at}
			dir := t.TempDir()
			err := comm.Run(context.Background(), ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
				s, from, err := lostNode(ctx, c, o, fail, home(dir))
				if err != nil {
					return err
				}
				if last := fail.Coarse / int64(cadence[0]) * int64(cadence[0]); from != last {
					return fmt.Errorf("gone on from coarse step %d, want %d", from, last)
				}
				if !bytes.Equal(s.result(), want) {
					return errors.New("another result")
				}
				return nil
			})
			if err != nil {
				t.Fatalf("cadence %v, died in %v of coarse step %d: %v", cadence, at, fail.Coarse, err)
			}
		}
	}
}
