package versioned

import (
	"context"
	"slices"
	"strings"

	"blobio/comm"
	"blobio/internal/fault"
)

// Drop forgets a committed version, but not the newest one that is not tainted. The others stay as they are. It is collective.
func (a *Array) Drop(ctx context.Context, version int64) error {
	bad := a.broken
	old := a.cat.record()
	rec := old.clone()
	if bad == nil {
		bad = rec.goes(a.spec.Name, version)
		if _, pinned := slices.BinarySearch(a.pins, version); bad == nil && pinned {
			bad = fault.Usage("array %s: version %d belongs to a snapshot", a.spec.Name, version)
		}
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil {
		return err
	}
	rec.Seq++
	last := version == rec.Versions[len(rec.Versions)-1].Number
	rec.drop(version)
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
		for n := range strings.SplitSeq(string(b), "\x00") {
			names[n] = true
		}
	}
	rec.prune(names)
	if err := a.writeRecord(ctx, rec); err != nil {
		return err
	}
	if last {
		a.changes.forget()
	}
	return a.install(ctx, rec)
}
