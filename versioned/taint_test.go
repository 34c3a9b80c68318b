package versioned

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// taintSpec describes an array whose chunks change at different times (see storyState).
var taintSpec = Spec{Name: "a", Type: elem.Float64, Shape: []int64{640}, Chunk: 512}

// stands checks that Newest returns version and that the current state is want.
func stands(ctx context.Context, a *Array, version int64, want []float64) error {
	got := make([]float64, len(want))
	if err := Get(ctx, a, []int64{0}, []int64{int64(len(want))}, got); err != nil || !slices.Equal(got, want) {
		return fmt.Errorf("the state is not that of version %d: %v", version, err)
	}
	if n := a.Newest(); n != version {
		return fmt.Errorf("newest is %d, want %d", n, version)
	}
	return nil
}

// advanceTo puts state s and commits it as version n.
func advanceTo(ctx context.Context, c comm.Comm, a *Array, n int64, s []float64) error {
	lo, hi := int64(c.Rank())*640/int64(c.Size()), int64(c.Rank()+1)*640/int64(c.Size())
	if err := Put(ctx, a, []int64{lo}, []int64{hi}, s[lo:hi]); err != nil {
		return err
	}
	if got, err := a.Inc(ctx, 1, ""); err != nil || got != n {
		return fmt.Errorf("version %d, want %d: %w", got, n, err)
	}
	return nil
}

// TestTaint: Newest, Open and the retention ignore a tainted version in all kinds of stores. Its number is not reused.
func TestTaint(t *testing.T) {
	for name, st := range map[string]*Store{"memory": nil, "copies": {Copies: 1}, "directory": {Dir: "d", FS: vfs.NewMem()}} {
		t.Run(name, func(t *testing.T) {
			run := func(n int, f func(ctx context.Context, c comm.Comm) error) {
				t.Helper()
				must(t, comm.Run(bg, n, &comm.Options{RanksPerNode: 2}, f))
			}
			run(4, func(ctx context.Context, c comm.Comm) error {
				spec := taintSpec
				spec.Keep = Retention{Last: 3}
				a, err := Create(ctx, c, st, spec, nil)
				if err != nil {
					return err
				}
				for n := int64(1); n <= 5; n++ {
					if err := advanceTo(ctx, c, a, n, storyState(n)); err != nil {
						return err
					}
				}
				if err := a.Taint(ctx, 9); !errors.Is(err, ErrNoVersion) {
					return fmt.Errorf("taint of no version: %w", err)
				}
				if err := errors.Join(a.Taint(ctx, 4, 5), a.Restore(ctx, 3), stands(ctx, a, 3, storyState(3))); err != nil {
					return err
				}
				// The newest untainted version cannot be dropped, but the newest version, which is tainted, can. The next version
				// gets a new number.
				if err := a.Drop(ctx, 3); !errors.Is(err, fault.ErrUsage) {
					return fmt.Errorf("drop of the newest clean version: %w", err)
				}
				if err := a.Drop(ctx, 5); err != nil {
					return err
				}
				if err := advanceTo(ctx, c, a, 6, storyState(4)); err != nil {
					return err
				}
				var left []int64
				for _, v := range a.Versions() {
					left = append(left, v.Number)
				}
				if !slices.Equal(left, []int64{3, 6}) { // version 4 is tainted and not counted; versions 1 and 2 were dropped before
					return fmt.Errorf("versions %v", left)
				}
				if err := errors.Join(stands(ctx, a, 6, storyState(4)), a.Taint(ctx, 6), a.Restore(ctx, 3)); err != nil {
					return err
				}
				return errors.Join(stands(ctx, a, 3, storyState(3)), a.Close(ctx))
			})
			if name != "directory" {
				return
			}
			run(3, func(ctx context.Context, c comm.Comm) error {
				a, err := Open(ctx, c, st, "a", nil)
				if err != nil {
					return err
				}
				if err := stands(ctx, a, 3, storyState(3)); err != nil {
					return err
				}
				if err := errors.Join(a.Taint(ctx, 3), a.Close(ctx)); err != nil {
					return err
				}
				if _, err := Open(ctx, c, st, "a", nil); !errors.Is(err, ErrTainted) {
					return fmt.Errorf("all are tainted: %w", err)
				}
				if a, err = OpenAt(ctx, c, st, "a", 6, nil); err != nil {
					return err
				}
				if err := advanceTo(ctx, c, a, 7, storyState(5)); err != nil {
					return err
				}
				return errors.Join(stands(ctx, a, 7, storyState(5)), a.Close(ctx))
			})
		})
	}
}

// TestCrashTaint: the power is cut before every operation of a program that taints versions. When Taint has returned, a tainted
// version is never opened. Before, either the old or the new marks are in force. The opened version is always undamaged.
func TestCrashTaint(t *testing.T) {
	var mark atomic.Int64
	state := map[int64][]float64{1: storyState(1), 2: storyState(2), 3: storyState(3), 4: storyState(4), 5: storyState(5)}
	sc := &crashtest.Scenario{Start: emptyDisk(t), Mark: mark.Load, Run: crashtest.One(func(fsys vfs.FS) error {
		mark.Store(0)
		return comm.Run(bg, 4, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, &Store{Dir: "d", FS: fsys}, taintSpec, nil)
			if err != nil {
				return err
			}
			for n := int64(1); n <= 4; n++ {
				if err := advanceTo(ctx, c, a, n, state[n]); err != nil {
					return err
				}
			}
			step := func(n int64, err error) error {
				if err = errors.Join(err, c.Barrier(ctx)); err == nil {
					mark.Store(n)
				}
				return errors.Join(err, c.Barrier(ctx))
			}
			if err := step(1, nil); err != nil { // version 4, or 2 while version 3 is marked
				return err
			}
			if err := step(2, a.Taint(ctx, 3, 4)); err != nil { // 2
				return err
			}
			if err := a.Restore(ctx, 2); err != nil {
				return err
			}
			if err := step(3, a.Drop(ctx, 4)); err != nil { // 2, or 5
				return err
			}
			return errors.Join(step(4, advanceTo(ctx, c, a, 5, state[5])), a.Close(ctx)) // 5
		})
	})}
	sc.Torn, sc.Every, sc.Seed = 1, crashtest.Times(5, 1), 1
	sc.Always = func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir }
	cuts, seen := sc.Cuts(t), map[int64]int{}
	for _, cut := range cuts {
		want := map[int64][]int64{0: {0, 1, 2, 3, 4}, 1: {4, 2}, 2: {2}, 3: {2, 5}, 4: {5}}[cut.Mark]
		err := comm.Run(bg, 3, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
			a, err := Open(ctx, c, &Store{Dir: "d", FS: cut.Mem[0]}, "a", nil)
			if errors.Is(err, ErrMissing) && cut.Mark == 0 {
				return nil
			}
			must(t, err)
			n := a.Newest()
			if !slices.Contains(want, n) {
				return fmt.Errorf("stands at %d, want one of %v", n, want)
			}
			if n > 0 {
				must(t, stands(ctx, a, n, state[n]))
			}
			return a.Close(ctx)
		})
		if err != nil {
			t.Fatalf("%s, mark %d: %v", cut.When, cut.Mark, err)
		}
		seen[cut.Mark]++
	}
	if seen[1] == 0 || seen[2] == 0 {
		t.Errorf("no cut while the marks were made: %v", seen)
	}
}

// TestTaintedSnapshots: a program has returned to snapshot 3, has tainted snapshots 4 and 5, and was killed. The next program
// continues from snapshot 3. Open also skips snapshots that use a tainted version. The retention ignores all these snapshots.
func TestTaintedSnapshots(t *testing.T) {
	mem, st := memStore(t)
	save := func(ctx context.Context, h *Hierarchy, n int64) error {
		for l := range 2 {
			if _, err := h.Save(ctx, l, float64(n), 1, n, own(h, l, n)); err != nil {
				return err
			}
		}
		_, err := h.Snapshot(ctx)
		return err
	}
	at := func(ctx context.Context, h *Hierarchy, n int64) error {
		l := h.Info(1)
		got := make([]float64, l.Offsets[1])
		lo, hi := l.dataRange(0)
		if err := h.levels[1].getBytes(ctx, []int64{lo}, []int64{hi}, bytesOf(got)); err != nil {
			return err
		}
		if l.Time != float64(n) || !slices.Equal(native(got), boxData(&l, 0, n)) {
			return fmt.Errorf("stands at time %v, want %d", l.Time, n)
		}
		return nil
	}
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		s := hierarchySpec(1, 1)
		s.Keep, s.Snapshots = Retention{Last: 2}, Retention{Last: 4}
		h, err := CreateHierarchy(ctx, c, st, s, nil)
		must(t, err)
		rng := rand.New(rand.NewSource(1)) // the same numbers on all ranks
		for l := range 2 {
			if _, err := h.Regrid(ctx, l, boxes(rng, 4, c.Size())); err != nil {
				return err
			}
		}
		for n := int64(1); n <= 5; n++ {
			must(t, save(ctx, h, n))
		}
		if err := h.levels[1].Taint(ctx, 4); !errors.Is(err, fault.ErrUsage) {
			return fmt.Errorf("a version of a snapshot is marked by the array: %w", err)
		}
		return errors.Join(h.RestoreSnapshot(ctx, 3), h.Taint(ctx, -1, 4, 5), h.Close(ctx))
	})
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		h, err := OpenHierarchy(ctx, c, st, "amr", nil)
		must(t, err)
		must(t, at(ctx, h, 3))
		for _, v := range h.levels[1].Versions() {
			if v.Tainted != (v.Number > 3) {
				return fmt.Errorf("%+v", v)
			}
		}
		// This taints a version of one level, and the snapshot that uses it.
		return errors.Join(h.Taint(ctx, 1, 3), h.Close(ctx))
	})
	// A View taints only the version of the level, not the snapshot.
	v, err := OpenView("d/amr.level0", mem, nil)
	must(t, err)
	must(t, errors.Join(v.Taint(true, 2), v.Close()))
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		if _, err := OpenHierarchy(ctx, c, st, "amr", nil); !errors.Is(err, ErrTainted) { // snapshot 1 was dropped, and level 0 of snapshot 2 is tainted
			h, err2 := OpenHierarchyAt(ctx, c, st, "amr", 2, nil)
			return errors.Join(fmt.Errorf("%w", err), err2, at(ctx, h, 2))
		}
		if _, err := CreateHierarchy(ctx, c, st, hierarchySpec(1, 1), nil); !errors.Is(err, ErrExist) {
			return fmt.Errorf("created over snapshots: %w", err)
		}
		h, err := OpenHierarchyAt(ctx, c, st, "amr", 3, nil)
		must(t, err)
		must(t, at(ctx, h, 3))
		for n := int64(6); n <= 9; n++ {
			must(t, save(ctx, h, n))
		}
		for _, v := range append(h.Snapshots(), h.levels[0].Versions()...) {
			if v.Tainted {
				return fmt.Errorf("stays: %+v", v)
			}
		}
		return errors.Join(at(ctx, h, 9), h.Close(ctx))
	})
}

// TestDifferentVersions: if ranks pass different versions to a collective, all ranks get an error, and nothing changes.
func TestDifferentVersions(t *testing.T) {
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, taintSpec, nil)
		must(t, err)
		h, err := CreateHierarchy(ctx, c, nil, hierarchySpec(1, 1), nil)
		must(t, err)
		for n := int64(1); n <= 3; n++ {
			must(t, advanceTo(ctx, c, a, n, storyState(n)))
		}
		mine := int64(c.Rank()) + 1
		for i, call := range []func() error{
			func() error { return a.Restore(ctx, mine) },
			func() error { return a.Drop(ctx, mine) },
			func() error { return a.Taint(ctx, mine) },
			func() error { return a.Taint(ctx, []int64{1, 2}[:mine]...) },
			func() error { return h.Taint(ctx, c.Rank(), 0) },
		} {
			if err := call(); !errors.Is(err, fault.ErrUsage) {
				t.Errorf("call %d, rank %d: %v", i, c.Rank(), err)
			}
		}
		if n := len(a.Versions()); n != 4 {
			t.Errorf("%d versions, want 4", n)
		}
		return stands(ctx, a, 3, storyState(3))
	})
}
