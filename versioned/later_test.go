package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// laterStory saves two levels repeatedly and makes a snapshot of every third state. It stores in mark the state of the last
// snapshot.
func laterStory(ctx context.Context, c comm.Comm, st *Store, mark *atomic.Int64) error {
	s := hierarchySpec(1, 1)
	s.Keep, s.Snapshots = Retention{Last: 2}, Retention{Last: 2}
	o := &Options{Durability: DurableSnapshot}
	h, err := OpenHierarchy(ctx, c, st, "amr", o)
	if errors.Is(err, ErrMissing) || errors.Is(err, ErrNoVersion) {
		h, err = CreateHierarchy(ctx, c, st, s, o)
	}
	if err != nil {
		return err
	}
	n := int64(h.Info(0).Time)
	for n++; n <= 9; n++ {
		for l := range 2 {
			if n == 1 || n == 5 {
				boxes := []BoxInfo{{Hi: [3]int32{7, int32(n), 0}}, {Lo: [3]int32{8}, Hi: [3]int32{15, 7, 0}, Owner: int32(1 % c.Size())}}
				if _, err := h.Regrid(ctx, l, boxes); err != nil {
					return err
				}
			}
			if _, err := h.Save(ctx, l, float64(n), 1, n, own(h, l, n)); err != nil {
				return err
			}
		}
		if n%3 == 0 {
			if _, err := h.Snapshot(ctx); err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			mark.Store(n)
		}
		if n == 7 { // taint a version that no snapshot uses; this also makes the waiting versions durable
			if err := h.levels[0].Taint(ctx, h.levels[0].Newest()); err != nil {
				return err
			}
		}
	}
	return h.Close(ctx)
}

// laterHolds opens the store that is left after a crash. It must have a snapshot of the state mark or a newer state, undamaged
// on all levels.
func laterHolds(mem *vfs.Mem, mark int64) error {
	st := &Store{Dir: "d", FS: mem}
	if err := comm.Run(bg, 3, nil, func(ctx context.Context, c comm.Comm) error {
		h, err := OpenHierarchy(ctx, c, st, "amr", nil)
		if mark == 0 && (errors.Is(err, ErrMissing) || errors.Is(err, ErrNoVersion)) {
			return nil
		}
		if err != nil {
			return err
		}
		n := int64(h.Info(0).Time)
		if n != mark && n != mark+3 {
			return fmt.Errorf("stands at %d", n)
		}
		for l := range 2 {
			table := h.Info(l)
			for b := range table.Boxes {
				got := make([]float64, table.Offsets[b+1]-table.Offsets[b])
				lo, _ := table.dataRange(b)
				if err := h.levels[l].getBytes(ctx, []int64{lo}, []int64{lo + int64(8*len(got))}, bytesOf(got)); err != nil || !slices.Equal(native(got), boxData(&table, b, n)) {
					return fmt.Errorf("level %d, box %d: %v", l, b, err)
				}
			}
		}
		return h.Close(ctx)
	}); err != nil {
		return err
	}
	var at atomic.Int64
	return comm.Run(bg, 2, nil, func(ctx context.Context, c comm.Comm) error { return laterStory(ctx, c, st, &at) })
}

// TestCrashLater: the versions of levels become durable only with snapshots. The power is cut at every operation, and every
// operation fails once. Afterwards the last snapshot can be opened and is undamaged.
func TestCrashLater(t *testing.T) {
	var mark atomic.Int64
	sc := &crashtest.Scenario{Start: emptyDisk(t), Mark: mark.Load, Run: func(d *crashtest.Disks) error {
		mark.Store(0)
		return comm.Run(bg, 2, nil, func(ctx context.Context, c comm.Comm) error {
			return laterStory(ctx, c, &Store{Dir: "d", FS: d.FS[0]}, &mark)
		})
	}}
	sc.Torn, sc.Every, sc.Seed = 1, crashtest.Times(17, 1), 5
	sc.Always = func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir }
	seen := map[int64]int{}
	for _, cut := range sc.Cuts(t) {
		if err := laterHolds(cut.Mem[0], cut.Mark); err != nil {
			t.Fatalf("%s, snapshot %d: %v", cut.When, cut.Mark, err)
		}
		seen[cut.Mark]++
	}
	if seen[3] == 0 || seen[6] == 0 {
		t.Errorf("cuts by snapshot: %v", seen)
	}
	sc.Every = crashtest.Times(61, 1)
	for f := range sc.Faults(t, crashtest.Fails(errors.New("injected"))) {
		if err := laterHolds(f.Mem[0], mark.Load()); err != nil {
			t.Fatalf("%s: after %v: %v", f.When, f.Err, err)
		}
	}
}

// TestLaterSyncs: between snapshots nothing is synced. A snapshot syncs exactly the files that it needs.
func TestLaterSyncs(t *testing.T) {
	syncs := func(o *Options) (n int64) {
		mem, _ := memStore(t)
		var count atomic.Int64
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpSync || op.Kind == vfs.OpSyncDir {
				count.Add(1)
			}
			return nil
		})
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			s := hierarchySpec(1, 1)
			s.Keep = Retention{Last: 2}
			h, err := CreateHierarchy(ctx, c, &Store{Dir: "d", FS: fsys}, s, o)
			must(t, err)
			for l := range 2 {
				if _, err := h.Regrid(ctx, l, []BoxInfo{{Hi: [3]int32{7, 7, 0}}}); err != nil {
					return err
				}
			}
			must(t, c.Barrier(ctx))
			was := count.Load()
			must(t, c.Barrier(ctx))
			for n := int64(1); n <= 8; n++ {
				for l := range 2 {
					if _, err := h.Save(ctx, l, float64(n), 1, n, own(h, l, n)); err != nil {
						return err
					}
				}
			}
			must(t, c.Barrier(ctx))
			d := count.Load() - was
			must(t, c.Barrier(ctx)) // no rank makes the snapshot before all ranks have counted
			if o != nil && d > 0 {
				return fmt.Errorf("%d syncs before the snapshot", d)
			}
			if _, err := h.Snapshot(ctx); err != nil {
				return err
			}
			if c.Rank() == 0 {
				n = count.Load() - was
			}
			return h.Close(ctx)
		})
		return n
	}
	if each, once := syncs(nil), syncs(&Options{Durability: DurableSnapshot}); once > each/3 {
		t.Errorf("%d syncs, %d where each version is durable", once, each)
	}
}
