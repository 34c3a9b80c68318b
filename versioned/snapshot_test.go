package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestSnapshotsAndRetention runs random histories of a hierarchy against a model. The histories have saves at each level's
// cadence, snapshots, drops of versions and snapshots, retention, and openings on another number of ranks. A kept snapshot can be
// restored, whatever was dropped. If neither a snapshot nor the retention keeps a version, the version is gone.
func TestSnapshotsAndRetention(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := vfs.NewMem()
		must(t, mem.MkdirAll("d"))
		st := &Store{Dir: "d", FS: mem}
		const levels = 2
		spec := hierarchySpec(1, 1)
		spec.Keep = Retention{Last: rapid.IntRange(0, 3).Draw(t, "last"), Every: rapid.Int64Range(0, 4).Draw(t, "every")}
		if rapid.Bool().Draw(t, "own") {
			spec.Snapshots = Retention{Last: rapid.IntRange(1, 3).Draw(t, "snapshots")}
		}
		keepSnaps := spec.Keep
		if spec.Snapshots.Last > 0 {
			keepSnaps = spec.Snapshots
		}
		reach := func(numbers []int64, k Retention, i int) bool {
			return k.Last == 0 || i >= len(numbers)-k.Last || k.Every > 0 && numbers[i]%k.Every == 0
		}
		// The model has the versions of each level, with the save in each version, and the snapshots, with the versions that they
		// use.
		versions := [levels][]int64{{0}, {0}}
		saves := [levels]map[int64]int64{{0: 0}, {0: 0}}
		snaps := []int64{0} // version 0 of the global array is empty
		named := map[int64][levels]int64{}
		save := int64(0)
		var snaps0 []int64 // snapshots made in this session
		save0 := int64(0)
		for session := range rapid.IntRange(1, 3).Draw(t, "sessions") {
			if session > 0 && snaps[len(snaps)-1] == 0 {
				break // there is no snapshot to open
			}
			kinds := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 25).Draw(t, "ops")
			which := rapid.SliceOfN(rapid.IntRange(0, 20), len(kinds), len(kinds)).Draw(t, "which")
			err := comm.Run(bg, rapid.IntRange(1, 3).Draw(t, "ranks"), nil, func(ctx context.Context, c comm.Comm) error {
				var h *Hierarchy
				var err error
				if session == 0 {
					if h, err = CreateHierarchy(ctx, c, st, spec, nil); err != nil {
						return err
					}
					for l := range levels {
						if _, err := h.Regrid(ctx, l, []BoxInfo{{Hi: [3]int32{7, 7, 0}}, {Lo: [3]int32{8}, Hi: [3]int32{15, 7, 0}}}); err != nil {
							return err
						}
					}
				} else if h, err = OpenHierarchy(ctx, c, st, "amr", nil); err != nil {
					return err
				}
				// Each rank changes its own copy of the model. The copy of rank 0 is kept.
				vs, snaps, save := [levels][]int64{slices.Clone(versions[0]), slices.Clone(versions[1])}, slices.Clone(snaps), save
				pins := func(l int, v int64) bool {
					for _, n := range snaps {
						if x, ok := named[n]; ok && x[l] == v {
							return true
						}
					}
					return false
				}
				for i, kind := range kinds {
					l := which[i] % levels
					switch {
					case kind < 5:
						save++
						n, err := h.Save(ctx, l, float64(save), 1, save, own(h, l, save))
						if err != nil || n != vs[l][len(vs[l])-1]+1 {
							return fmt.Errorf("save: version %d: %w", n, err)
						}
						if c.Rank() == 0 {
							saves[l][n] = save
						}
						all := append(slices.Clone(vs[l]), n)
						vs[l] = nil
						for k, v := range all {
							if reach(all, spec.Keep, k) || pins(l, v) {
								vs[l] = append(vs[l], v)
							}
						}
					case kind < 8:
						save++
						var x [levels]int64
						for l := range levels { // both levels are at the same time
							n, err := h.Save(ctx, l, float64(save), 1, save, own(h, l, save))
							if err != nil {
								return err
							}
							if c.Rank() == 0 {
								saves[l][n] = save
							}
							all := append(slices.Clone(vs[l]), n)
							vs[l] = nil
							for k, v := range all {
								if reach(all, spec.Keep, k) || pins(l, v) {
									vs[l] = append(vs[l], v)
								}
							}
							x[l] = n
						}
						n, err := h.Snapshot(ctx)
						if err != nil {
							return err
						}
						if c.Rank() == 0 {
							named[n] = x
						}
						if err := c.Barrier(ctx); err != nil {
							return err
						}
						all := append(slices.Clone(snaps), n)
						snaps = nil
						for k, v := range all {
							if reach(all, keepSnaps, k) {
								snaps = append(snaps, v)
							}
						}
					default: // drop a version of a level
						v := int64(which[i] / levels)
						err := h.Array(l).Drop(ctx, v)
						k := slices.Index(vs[l], v)
						switch {
						case k < 0:
							if !errors.Is(err, ErrNoVersion) {
								return fmt.Errorf("drop of %d of %v: %w", v, vs[l], err)
							}
						case k == len(vs[l])-1 || pins(l, v):
							if !errors.Is(err, fault.ErrUsage) {
								return fmt.Errorf("drop of %d of %v, which a snapshot needs: %w", v, vs[l], err)
							}
						case err != nil:
							return err
						default:
							vs[l] = slices.Delete(vs[l], k, k+1)
						}
					}
					for l := range levels {
						var got []int64
						for _, v := range h.Array(l).Versions() {
							got = append(got, v.Number)
						}
						if !slices.Equal(got, vs[l]) {
							return fmt.Errorf("after op %d (%d): level %d has %v, want %v", i, kind, l, got, vs[l])
						}
					}
				}
				if err := c.Barrier(ctx); err != nil {
					return err
				}
				for _, n := range snaps {
					x, ok := named[n]
					if !ok {
						continue
					}
					if err := h.RestoreSnapshot(ctx, n); err != nil {
						return fmt.Errorf("snapshot %d: %w", n, err)
					}
					for l := range levels {
						info := h.Info(l)
						got := make([]float64, 128)
						for b := range info.Boxes {
							if err := h.Box(ctx, l, x[l], &info, b, got); err != nil || !slices.Equal(got, boxData(&info, b, saves[l][x[l]])) {
								return fmt.Errorf("snapshot %d, level %d, box %d: %v", n, l, b, err)
							}
						}
					}
				}
				if err := c.Barrier(ctx); err != nil {
					return err
				}
				if err := h.Close(ctx); err != nil {
					return err
				}
				if c.Rank() == 0 {
					versions, save0 = vs, save
					snaps0 = snaps
				}
				return nil
			})
			must(t, err)
			snaps, save = snaps0, save0
		}
	})
}

// TestSnapshotIsTheState: a snapshot has the state of all levels at its time, even if a level was restored or has lost its boxes.
// A snapshot of boxes without data is refused. Times may differ by the rounding errors of sums of steps.
func TestSnapshotIsTheState(t *testing.T) {
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		s := hierarchySpec(1, 1)
		s.Subcycling.Ratio = 10
		h, err := CreateHierarchy(ctx, c, nil, s, nil)
		must(t, err)
		box := []BoxInfo{{Hi: [3]int32{3, 3, 0}}}
		save := func(l int, time float64, step int64) error {
			_, err := h.Save(ctx, l, time, 0.1, step, own(h, l, step))
			return err
		}
		snapshot := func(want error) (int64, error) {
			n, err := h.Snapshot(ctx)
			if !errors.Is(err, want) {
				return 0, fmt.Errorf("snapshot %d: %v, want %v", n, err, want)
			}
			return n, nil
		}
		for l := range 2 {
			if _, err := h.Regrid(ctx, l, box); err != nil {
				return err
			}
		}
		if _, err := snapshot(ErrNotSynchronised); err != nil {
			return fmt.Errorf("before any save: %w", err)
		}
		sum := 0.0
		for range 10 {
			sum += 0.1
		}
		if sum == 1 {
			return errors.New("ten tenths are one")
		}
		must(t, errors.Join(save(0, 1, 1), save(1, sum, 10)))
		one, err := snapshot(nil)
		must(t, err)
		must(t, save(1, sum+1e-4, 10))
		if _, err := snapshot(ErrNotSynchronised); err != nil {
			return err
		}
		// Level 1 loses its boxes without a save.
		if _, err := h.Regrid(ctx, 1, nil); err != nil {
			return err
		}
		must(t, save(0, 2, 2))
		two, err := snapshot(nil)
		must(t, err)
		must(t, save(0, 3, 3))
		// Restore the first snapshot, then the snapshot in which level 1 has no boxes. A snapshot after a restore is a copy of
		// the restored snapshot.
		for i, n := range []int64{one, two} {
			must(t, h.RestoreSnapshot(ctx, n))
			again, err := snapshot(nil)
			must(t, err)
			must(t, h.RestoreSnapshot(ctx, again))
			if got, want := len(h.Info(1).Boxes), 1-i; got != want || h.Info(0).Time != float64(i+1) {
				return fmt.Errorf("snapshot %d, again %d: %d boxes in level 1, want %d; time %v", n, again, got, want, h.Info(0).Time)
			}
		}
		return h.Close(ctx)
	})
}
