package versioned

import (
	"context"
	"slices"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Taint marks versions as tainted: they hold an error that was noticed too late. Open, Newest and the retention pass over them, in this program and
// in later ones; they can still be read, restored and dropped. One that a snapshot is made of is marked by Hierarchy.Taint. It is collective; all
// ranks pass the same. The marks are one commit: after a kill all are there or none.
func (a *Array) Taint(ctx context.Context, versions ...int64) error {
	return a.mark(ctx, true, versions)
}

// Untaint takes marks back. It is collective.
func (a *Array) Untaint(ctx context.Context, versions ...int64) error {
	return a.mark(ctx, false, versions)
}

func (a *Array) mark(ctx context.Context, tainted bool, versions []int64) error {
	bad := a.broken
	rec, changed, err := a.cat.record().marked(tainted, versions)
	if bad == nil {
		bad = err
	}
	for _, n := range versions {
		if _, pinned := slices.BinarySearch(a.pins, n); pinned && tainted && bad == nil {
			bad = fault.Usage("array %s: version %d belongs to a snapshot; mark it by the hierarchy", a.spec.Name, n)
		}
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil || !changed {
		return err
	}
	if err := a.writeRecord(ctx, rec); err != nil {
		return err
	}
	return a.install(ctx, rec)
}

// marked is the record with the marks, and whether any is new.
func (r *record) marked(tainted bool, versions []int64) (rec *record, changed bool, err error) {
	rec = r.clone()
	rec.Seq++
	for _, n := range versions {
		v, err := rec.find(n)
		if err != nil {
			return nil, false, err
		}
		changed = changed || v.Tainted != tainted
		v.Tainted = tainted
	}
	return rec, changed, nil
}

// Taint marks versions of a level, and before them, in a commit of their own, the snapshots that name one of them; of level -1 the snapshots of these
// numbers, and then the versions of all levels that no other snapshot names. So a kill in between leaves no snapshot that can be opened and holds the error.
// It is collective; all ranks pass the same.
func (h *Hierarchy) Taint(ctx context.Context, level int, versions ...int64) error {
	if level < -1 || level >= len(h.levels) { // on all ranks
		return comm.Agree(ctx, h.c, h.has(level))
	}
	var snaps []int64
	names := make([][]int64, len(h.levels)) // versions of each level that are to be marked
	if level < 0 {
		snaps = versions
	} else {
		names[level] = versions
		for n, v := range h.global.named {
			if slices.Contains(versions, v[level]) {
				snaps = append(snaps, n)
			}
		}
		slices.Sort(snaps)
		if _, _, err := h.levels[level].cat.record().marked(true, versions); err != nil { // on all ranks, before anything is marked
			return comm.Agree(ctx, h.c, err)
		}
	}
	if len(snaps) > 0 {
		if err := h.global.Taint(ctx, snaps...); err != nil {
			return err
		}
		h.pin()
	}
	for l, a := range h.levels {
		if level < 0 {
			for _, n := range snaps {
				v, ok := h.global.named[n]
				if !ok {
					continue // it could not be read
				}
				_, there := a.cat.record().version(v[l])
				if _, pinned := slices.BinarySearch(a.pins, v[l]); there && !pinned {
					names[l] = append(names[l], v[l])
				}
			}
		}
		if err := a.Taint(ctx, names[l]...); err != nil {
			return err
		}
	}
	h.pin()
	return nil
}

// Taint marks versions as Array.Taint does, in a store that no array has open; with tainted false it takes marks back.
func (v *View) Taint(tainted bool, versions ...int64) error {
	rec, changed, err := v.rec.marked(tainted, versions)
	if err != nil || !changed {
		return err
	}
	return v.replace(rec)
}
