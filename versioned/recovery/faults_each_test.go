package recovery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

// twoLevels is a story on two ranks that saves every step.
func twoLevels(faults ...*fault) *story {
	sub := versioned.Subcycling{Levels: 2, Ratio: 2}
	return &story{sub: sub, steps: 5, ranks: 2, single: true, config: versioned.Config{Cadence: versioned.Cadence{1, 1}}, faults: faults}
}

// TestEachFault runs stories with the faults of one step. Each run must end like the run without faults.
func TestEachFault(t *testing.T) {
	want, _, err := twoLevels().run(0)
	if err != nil {
		t.Fatal(err)
	}
	coarse := func(n int64) recovery.Moment { return recovery.Moment{Coarse: n} }
	late := func(pick int, at int64) *fault {
		return &fault{kind: "late", pick: pick, at: coarse(at), found: coarse(3)}
	}
	stories := map[string]*story{
		"an older late error on rank 1": twoLevels(late(0, 2), late(1, 1)),
		"an older late error on rank 0": twoLevels(late(0, 1), late(1, 2)),
	}
	for pick := range 12 { // all changes of an own box, on both ranks and levels
		stories[fmt.Sprintf("metadata %d", pick)] = twoLevels(&fault{kind: "metadata", pick: pick, at: coarse(2)})
	}
	for name, s := range stories {
		got, stats, err := s.run(0)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, same result %v", name, err, bytes.Equal(got, want))
		} else if all := stats.Recoveries; len(all) == 0 || len(all[0].Plan.Redo) == 0 { // wrong data or boxes of a rank must go back
			t.Errorf("%s: recoveries %+v, want repeated steps", name, all)
		}
	}
}

// TestSnapshotFailsOnOneRank: all ranks handle an error of Options.Snapshot on one rank.
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
		r.Registry.On(recovery.Pred{"kind": "store"}, 0, func(context.Context, recovery.Event) error { return nil })
		if err := r.Go(ctx, s.steps); err != nil {
			return err
		}
		if r.Stats.Unsaved != 1 {
			return fmt.Errorf("rank %d: %d failed saves, want 1", c.Rank(), r.Stats.Unsaved)
		}
		return r.Close(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}
