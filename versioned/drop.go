package versioned

import (
	"context"
	"slices"

	"blobio/comm"
)

// Drop forgets a committed version that is not the newest one. The others stay as they are. It is collective.
func (a *Array) Drop(ctx context.Context, version int64) error {
	bad := a.broken
	old := a.cat.record()
	rec := old.clone()
	if bad == nil {
		n := len(rec.Versions)
		if _, ok := rec.version(version); !ok {
			bad = pkg.Errorf("array %s: version %d: %w", a.spec.Name, version, ErrNoVersion)
		} else if rec.Versions[n-1].Number == version {
			bad = pkg.Usage("array %s: version %d is the newest one", a.spec.Name, version)
		} else if _, pinned := slices.BinarySearch(a.pins, version); pinned {
			bad = pkg.Usage("array %s: version %d belongs to a snapshot; drop that", a.spec.Name, version)
		}
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil {
		return err
	}
	rec.Seq++
	rec.Versions = slices.DeleteFunc(rec.Versions, func(v verInfo) bool { return v.Number == version })
	var keep []int64
	for _, v := range rec.Versions {
		keep = append(keep, v.Number)
	}
	got, err := a.nodes.process.Share(ctx, &changeSet{rank: a.c.Rank()})
	if err != nil {
		return err
	}
	dead := []byte(nil)
	if a.nodes.process.Rank() == 0 {
		var sets []*changeSet
		for _, v := range got {
			if v != nil {
				sets = append(sets, v.(*changeSet))
			}
		}
		w := a.cleaner(-1, keep)
		if err = w.current(ctx, sets); err == nil {
			err = w.older(ctx, a.nodes.decides)
		}
		if err == nil {
			for _, n := range w.dead {
				dead = append(append(dead, n...), 0)
			}
		}
	}
	if err := comm.Agree(ctx, a.c, err); err != nil {
		return err
	}
	all, err := a.c.Allgather(ctx, dead)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, b := range all {
		for _, n := range splitZero(b) {
			names[n] = true
		}
	}
	rec.prune(names)
	if err := a.writeRecord(ctx, rec); err != nil {
		return err
	}
	return a.install(ctx, rec)
}
