package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

// twoLevels is a scenario on two ranks that saves every step.
func twoLevels(faults ...*fault) *scenario {
	sub := versioned.Subcycling{Levels: 2, Ratio: 2}
	return &scenario{sub: sub, steps: 5, ranks: 2, single: true, config: versioned.Config{Cadence: versioned.Cadence{1, 1}}, faults: faults}
}

// TestEachFault runs one scenario for each fault of a step. Each run must end with the same bytes as the run without faults.
func TestEachFault(t *testing.T) {
	want, _, err := twoLevels().run(0)
	if err != nil {
		t.Fatal(err)
	}
	coarse := func(n int64) recovery.Moment { return recovery.Moment{Coarse: n} }
	late := func(pick int, at int64) *fault {
		return &fault{kind: "late", pick: pick, at: coarse(at), found: coarse(3)}
	}
	scenarios := map[string]*scenario{
		"an older late error on rank 1": twoLevels(late(0, 2), late(1, 1)),
		"an older late error on rank 0": twoLevels(late(0, 1), late(1, 2)),
	}
	for pick := range 12 { // flip values of every own box, on both ranks and levels
		scenarios[fmt.Sprintf("metadata %d", pick)] = twoLevels(&fault{kind: "metadata", pick: pick, at: coarse(2)})
	}
	for name, s := range scenarios {
		got, stats, err := s.run(0)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, same result %v", name, err, bytes.Equal(got, want))
		} else if all := stats.Recoveries; len(all) == 0 || len(all[0].Plan.Redo) == 0 { // after wrong data, or loss of a rank's boxes, the run must go back
			t.Errorf("%s: recoveries %+v, want repeated steps", name, all)
		}
	}
}

// TestEveryFault runs the lattice with every kind of fault at every moment, with every cadence, in memory and in a directory.
// Faults are found at once or late. Each run ends with the bytes of the undisturbed run, or fails because there are no snapshots
// (ErrNoRecovery) or the disk is full.
func TestEveryFault(t *testing.T) {
	plain := scenario{sub: sub, steps: 5, config: versioned.Config{Cadence: cadences[0]}}
	want, _, err := plain.job(1, nil, &faults{})
	if err != nil {
		t.Fatal(err)
	}
	n, refused := 0, map[string]int{}
	each(append(slices.Clone(modes), "dies", "full"), func(name string, cadence versioned.Cadence, kind string, at, found recovery.Moment, i int) {
		s := plain
		s.ranks, s.single, s.handled, s.dir = 3, i%2 == 0, true, i%3 > 0 || kind == "dies" || kind == "full"
		s.config.Cadence, s.faults = cadence, []*fault{{kind: kind, at: at, found: found, pick: i}}
		got, stats, err := s.run(0)
		switch {
		case err != nil && errors.Is(err, recovery.ErrNoRecovery) && cadence[0] != 1:
			refused[kind]++
		case kind == "full" && errors.Is(err, errFull): // the disk is still full when the run ends
		case err != nil || !bytes.Equal(got, want):
			t.Errorf("%s: %v, same result %v\n%v\n%+v", name, err, bytes.Equal(got, want), &s, stats)
		default:
			n++
		}
	})
	t.Logf("%d runs end right, refused: %v", n, refused)
}

// TestRankWithoutBoxes: rank 1 has no boxes yet and loses its memory. It must receive the other ranks' data again, because all
// ranks must make the same boxes later.
func TestRankWithoutBoxes(t *testing.T) {
	s := twoLevels()
	s.ranks = 3
	want, _, err := s.run(0)
	if err != nil {
		t.Fatal(err)
	}
	s.faults = []*fault{{kind: "failed", pick: 1, at: recovery.Moment{Step: versioned.Step{Level: 1}}}}
	got, stats, err := s.run(0)
	if err != nil || !bytes.Equal(got, want) || len(stats.Recoveries) > 0 {
		t.Errorf("%v, same result %v, recoveries %+v", err, bytes.Equal(got, want), stats)
	}
}

// scripted is a lattice that calls script after each step. script gets the step's moment and how often the step was taken, and
// may return an event.
type scripted struct {
	boxLattice
	taken  map[recovery.Moment]int
	script func(at recovery.Moment, times int) (*recovery.Event, error)
}

func (x scripted) Step(ctx context.Context, at recovery.Moment) (*recovery.Event, error) {
	if e, err := x.boxLattice.Step(ctx, at); e != nil || err != nil {
		return e, err
	}
	x.taken[at]++
	return x.script(at, x.taken[at])
}

// TestLateWithoutVersion: the version to which a late error should return could not be saved, so the run returns to an older
// snapshot. All later versions are tainted. After a second error the run does not use the tainted versions, even if the versions
// that should replace them could not be saved.
func TestLateWithoutVersion(t *testing.T) {
	s := twoLevels()
	want, _, err := s.run(0)
	if err != nil {
		t.Fatal(err)
	}
	moment := func(coarse int64, level, index int) recovery.Moment {
		return recovery.Moment{Coarse: coarse, Step: versioned.Step{Level: level, Index: index}}
	}
	s.faults = []*fault{{kind: "late", at: moment(1, 0, 0), found: moment(3, 0, 0)}}
	d := &disk{mem: vfs.NewMem()}
	if err := d.mem.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	full := func(n int64) func() { return func() { d.full.Store(n) } }
	steps := map[string]func(){ // key: a moment, and how often the run has reached it
		fmt.Sprint(moment(0, 1, 1), 1): full(1 << 40), fmt.Sprint(moment(1, 0, 0), 1): full(0), // the version at coarse step 1 cannot be saved
		fmt.Sprint(moment(2, 1, 0), 2): full(1 << 40), fmt.Sprint(moment(2, 1, 1), 2): full(0), // the version at the second half of coarse step 2 cannot be saved
	}
	res := make([][]byte, s.ranks)
	err = comm.Run(t.Context(), s.ranks, nil, func(ctx context.Context, c comm.Comm) error {
		x := scripted{boxLattice{newLattice(c, s.sub, &faults{list: s.faults, disk: d})}, map[recovery.Moment]int{}, nil}
		x.script = func(at recovery.Moment, times int) (*recovery.Event, error) {
			if f := steps[fmt.Sprint(at, times)]; f != nil && c.Rank() == 0 {
				f()
			}
			h := x.run.Hierarchy()
			for l := range s.sub.Levels {
				if n, want := h.Array(l).Newest(), h.Version(l); times == 2 && at == moment(0, 0, 0) && n != want {
					return nil, fmt.Errorf("version %d of level %d is not tainted, want those after %d", n, l, want)
				}
			}
			if times == 2 && at == moment(2, 1, 1) {
				return &recovery.Event{Kind: "data", Level: 1}, nil
			}
			return nil, nil
		}
		r, err := recovery.Open(ctx, c, &versioned.Store{Dir: "d", FS: vfs.NewFault(d.mem, d.hook)}, s.spec(), x, nil)
		if err != nil {
			return err
		}
		x.run = r
		r.Registry.On(recovery.Pred{"kind": "store"}, 0, func(context.Context, recovery.Event) error { return nil })
		if err := r.Go(ctx, s.steps); err != nil {
			return err
		}
		res[c.Rank()] = x.result()
		if r.Stats.Unsaved != 2 {
			return fmt.Errorf("%d failed saves, want 2", r.Stats.Unsaved)
		}
		for _, x := range r.Stats.Recoveries {
			if x.Event.Kind != "late" && x.Event.Kind != "data" {
				return fmt.Errorf("%+v", x)
			}
		}
		return r.Close(ctx)
	})
	if err != nil || !bytes.Equal(res[0], want) || !bytes.Equal(res[1], want) {
		t.Errorf("%v, same result %v %v", err, bytes.Equal(res[0], want), bytes.Equal(res[1], want))
	}
}

// TestSnapshotFailsOnOneRank: if Options.Snapshot fails on one rank, all ranks handle the error, and only once.
func TestSnapshotFailsOnOneRank(t *testing.T) {
	s := twoLevels()
	err := comm.Run(t.Context(), s.ranks, nil, func(ctx context.Context, c comm.Comm) error {
		failed := false
		copied := func(context.Context, *versioned.Hierarchy, int64) error {
			if c.Rank() == 0 || failed {
				return nil
			}
			failed = true
			return errors.New("no space left")
		}
		x := newLattice(c, s.sub, &faults{})
		r, err := recovery.Open(ctx, c, nil, s.spec(), x, &recovery.Options{Snapshot: copied})
		if err != nil {
			return err
		}
		x.run = r
		calls := 0
		r.Registry.On(recovery.Pred{"kind": "store"}, 0, func(context.Context, recovery.Event) error { calls++; return nil })
		if err := r.Go(ctx, s.steps); err != nil {
			return err
		}
		if r.Stats.Unsaved != 1 || calls != 1 {
			return fmt.Errorf("rank %d: %d failed saves, the handler ran %d times, want 1 and 1", c.Rank(), r.Stats.Unsaved, calls)
		}
		return r.Close(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}
