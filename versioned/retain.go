package versioned

import (
	"cmp"
	"context"
	"slices"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

// retained lists the numbers of the versions that stay after number (-1: none) is added, ascending. The versions in pins,
// ascending, stay in any case. Tainted versions do not count and are dropped with the next commit.
func retained(versions []verInfo, number int64, keep Retention, pins []int64) []int64 {
	var all []int64
	for _, v := range versions {
		if !v.Tainted || keep.Last == 0 {
			all = append(all, v.Number)
		}
	}
	if number >= 0 {
		all = append(all, number)
	}
	if keep.Last == 0 {
		return all
	}
	from := max(len(all)-keep.Last, 0)
	var out []int64
	for i, n := range all {
		_, pinned := slices.BinarySearch(pins, n)
		if i >= from || keep.Every > 0 && n%keep.Every == 0 || pinned {
			out = append(out, n)
		}
	}
	return out
}

// inGen returns the numbers of versions of one generation. Versions that are not in the record belong to it.
func inGen(rec *record, numbers []int64, gen int) []int64 {
	return slices.DeleteFunc(slices.Clone(numbers), func(n int64) bool {
		v, ok := rec.version(n)
		return ok && v.Generation != gen
	})
}

// add adds a version and removes the versions that are not in keep, ascending.
func (r *record) add(v verInfo, keep []int64) {
	r.Versions = append(r.Versions, v)
	if len(keep) < len(r.Versions) {
		r.Versions = slices.DeleteFunc(r.Versions, func(v verInfo) bool { return !slices.Contains(keep, v.Number) })
	}
}

// needed lists the generations that have versions, and the current one.
func (r *record) needed() []geometry {
	out := make([]geometry, 0, len(r.Generations))
	for i, g := range r.Generations {
		if i == len(r.Generations)-1 || slices.ContainsFunc(r.Versions, func(v verInfo) bool { return v.Generation == g.ID }) {
			out = append(out, g)
		}
	}
	return out
}

// prune removes unneeded files: those in dead, and all files of generations without versions.
func (r *record) prune(dead map[string]bool) {
	r.Generations = r.needed()
	gens := map[int]bool{}
	for _, g := range r.Generations {
		gens[g.ID] = true
	}
	r.Files = slices.DeleteFunc(r.Files, func(f fileInfo) bool { return dead[f.Name] || !gens[f.Gen] })
}

// stray reports whether name is a complete file of an array that the record does not name.
func (r *record) stray(name string) bool {
	if isData(name) {
		return !slices.ContainsFunc(r.Files, func(f fileInfo) bool { return f.Name == name })
	}
	return durable.IsTemp(name)
}

// Drop drops a committed version, but never the newest untainted one. The other versions do not change. It is collective.
func (a *Array) Drop(ctx context.Context, version int64) error {
	bad := cmp.Or(a.broken, a.cat.record().goes(version))
	if _, pinned := slices.BinarySearch(a.pins, version); bad == nil && pinned {
		bad = fault.Usage("array %s: version %d belongs to a snapshot", a.spec.Name, version)
	}
	var b []byte
	if a.c.Rank() == 0 && bad == nil {
		var rec *record
		if rec, bad = a.cat.dropped(ctx, version); bad == nil {
			b, bad = rec.encode()
		}
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil {
		return err
	}
	b, err := a.c.Bcast(ctx, 0, b)
	if err != nil {
		return err
	}
	rec, err := decodeRecord(b, a.spec.Name) // all ranks get the same result
	if err != nil {
		return err
	}
	old := a.cat.record().Versions
	if err := a.writeRecord(ctx, rec); err != nil {
		return err
	}
	if version == old[len(old)-1].Number {
		a.changes.forget()
	}
	return a.install(ctx, rec)
}

// Taint marks versions as tainted: they contain an error that was noticed too late. Open, Newest and the retention ignore tainted
// versions, in this program and in later ones. They can still be read, restored and dropped. Use Hierarchy.Taint for a version
// that belongs to a snapshot. Taint is collective; all ranks pass the same versions. One commit makes all marks, so a kill leaves
// all of them or none.
func (a *Array) Taint(ctx context.Context, versions ...int64) error {
	bad := a.broken
	rec, changed, err := a.cat.record().marked(true, versions)
	if bad == nil {
		bad = err
	}
	for _, n := range versions {
		if _, pinned := slices.BinarySearch(a.pins, n); pinned && bad == nil {
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

// marked returns the record with the marks, and whether any mark is new.
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

// Taint marks versions of a level. Before that, in a separate commit, it marks the snapshots that name one of them. With level -1
// it marks the snapshots with these numbers, and then the versions of all levels that no other snapshot names. So a kill in
// between never leaves an untainted snapshot that contains the error. Taint is collective; all ranks pass the same arguments.
func (h *Hierarchy) Taint(ctx context.Context, level int, versions ...int64) error {
	if level < -1 || level >= len(h.levels) { // all ranks take this branch
		return comm.Agree(ctx, h.c, h.has(level))
	}
	var snaps []int64
	names := make([][]int64, len(h.levels)) // by level: versions to be marked
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
		if _, _, err := h.levels[level].cat.record().marked(true, versions); err != nil { // all ranks take this branch, before the first mark
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
					continue // the snapshot was unreadable
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

// Taint marks versions like Array.Taint in a store that no array has open. With tainted false it removes marks.
func (v *View) Taint(tainted bool, versions ...int64) error {
	rec, changed, err := v.rec.marked(tainted, versions)
	if err != nil || !changed {
		return err
	}
	return v.replace(rec)
}
