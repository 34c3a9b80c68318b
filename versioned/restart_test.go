package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
)

// levelState returns the data of box 0 of a level in the save at a step.
func levelState(level int, step int64) []float64 {
	return seq(100*level+int(step), 16, 1)
}

const restartSteps = 3

// restart opens or creates a hierarchy, like a program that is started repeatedly, and continues to the last step. Each run ends
// with a snapshot.
func restart(ctx context.Context, c comm.Comm, st *Store) error {
	const levels = 2
	h, err := OpenHierarchy(ctx, c, st, "amr", nil)
	if errors.Is(err, ErrMissing) || errors.Is(err, ErrNoVersion) {
		opened := err
		if h, err = CreateHierarchy(ctx, c, st, HierarchySpec{Name: "amr", Dim: 1, Comps: []string{"u"}, Dx: 1, Chunk: 512,
			Subcycling: Subcycling{Levels: levels, Ratio: 2}, Config: Config{Cadence: Cadence{1, 0}}}, nil); errors.Is(err, ErrExist) {
			return errors.Join(opened, err)
		}
	}
	if err != nil {
		return err
	}
	first := int64(1)
	if len(h.Snapshots()) > 0 {
		first = h.Info(0).Step + 1
	}
	for s := first; s <= restartSteps; s++ {
		for l := range levels {
			if len(h.Info(l).Boxes) == 0 {
				if _, err := h.Regrid(ctx, l, []BoxInfo{{Hi: [3]int32{15}}}); err != nil {
					return err
				}
			}
			own := map[int][]float64{}
			if c.Rank() == 0 {
				own[0] = levelState(l, s)
			}
			if _, err := h.Save(ctx, l, float64(s), 1, s, own); err != nil {
				return err
			}
		}
		if _, err := h.Snapshot(ctx); err != nil {
			return err
		}
	}
	got := make([]float64, 16)
	for l := range levels { // compare all data, also of saves before the first snapshot
		for _, v := range h.Array(l).Versions() {
			if v.Number == 0 {
				continue
			}
			t, err := h.Table(ctx, l, v.Number)
			if err != nil {
				return err
			}
			if err := h.Box(ctx, l, v.Number, t, 0, got); err != nil || !slices.Equal(got, levelState(l, t.Step)) {
				return fmt.Errorf("level %d, version %d, step %d: %v, %v", l, v.Number, t.Step, got, err)
			}
		}
	}
	return h.Close(ctx)
}

// committed lists the committed versions of a hierarchy's arrays with their labels.
func committed(fsys vfs.FS) []string {
	var out []string
	list, _ := arrays.List("d", fsys)
	for _, n := range list {
		v, err := OpenView("d/"+n, fsys, nil)
		if err != nil {
			out = append(out, fmt.Sprint(n, err))
			continue
		}
		for _, x := range v.Versions() {
			if x.Number > 0 {
				out = append(out, fmt.Sprint(n, x.Number, x.Label))
			}
		}
		v.Close()
	}
	return out
}

// TestRestart: a power cut stops a program at any operation, before or after its first snapshot. The program continues when it is
// started again on another number of ranks. Committed versions stay.
func TestRestart(t *testing.T) {
	n := 0
	sc := crashtest.Scenario{Start: emptyDisk(t), Torn: 1, Seed: 1, Every: crashtest.Times(9, 1),
		Always: func(vfs.Op) bool { n++; return n <= 30 }, // test all of the first operations, mostly before the first snapshot
		Run: crashtest.One(func(fsys vfs.FS) error {
			return comm.Run(bg, 3, nil, func(ctx context.Context, c comm.Comm) error { return restart(ctx, c, &Store{Dir: "d", FS: fsys}) })
		})}
	for _, c := range sc.Cuts(t) {
		m := c.Mem[0]
		before := committed(m)
		if err := comm.Run(bg, 2, nil, func(ctx context.Context, c comm.Comm) error { return restart(ctx, c, &Store{Dir: "d", FS: m}) }); err != nil {
			t.Fatalf("%s: started again: %v", c.When, err)
		}
		after := committed(m)
		for _, v := range before {
			if !slices.Contains(after, v) {
				t.Fatalf("%s: %s is gone; there were %v, there are %v", c.When, v, before, after)
			}
		}
	}
}

// TestRestartFaults: one operation fails, or this operation and all later operations fail, as after a kill. The program continues
// when it is started again.
func TestRestartFaults(t *testing.T) {
	o := &comm.Options{RanksPerNode: 1}
	sc := crashtest.Scenario{Start: emptyDisk(t), Every: crashtest.Times(9, 1), Run: crashtest.One(func(fsys vfs.FS) error {
		return comm.Run(bg, 2, o, func(ctx context.Context, c comm.Comm) error { return restart(ctx, c, &Store{Dir: "d", FS: fsys}) })
	})}
	injected := errors.New("injected")
	for f := range sc.Faults(t, crashtest.Fails(injected), crashtest.Dies(injected)) {
		mem := f.Mem[0]
		before := committed(mem)
		if err := comm.Run(bg, 3, o, func(ctx context.Context, c comm.Comm) error { return restart(ctx, c, &Store{Dir: "d", FS: mem}) }); err != nil {
			t.Fatalf("%s: %v; started again: %v", f.When, f.Err, err)
		}
		after := committed(mem)
		for _, v := range before {
			if !slices.Contains(after, v) {
				t.Fatalf("%s: %s is gone", f.When, v)
			}
		}
	}
}

// TestLostIsNotNew: a hierarchy with snapshots or saved levels that has lost an array is not treated as a new hierarchy.
func TestLostIsNotNew(t *testing.T) {
	for _, gone := range []string{"amr.global", "amr.level0", "amr.level1"} {
		mem, st := memStore(t)
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error { return restart(ctx, c, st) })
		for _, n := range names(t, mem, "d/"+gone) {
			remove(t, mem, "d/"+gone+"/"+n)
		}
		remove(t, mem, "d/"+gone)
		before := committed(mem)
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			if err := restart(ctx, c, st); !errors.Is(err, ErrMissing) || !errors.Is(err, ErrExist) {
				return fmt.Errorf("without %s: %v", gone, err)
			}
			return nil
		})
		if !slices.Equal(committed(mem), before) {
			t.Errorf("without %s: %v, there were %v", gone, committed(mem), before)
		}
	}
}
