package versioned

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

// retained lists, ascending, the numbers of the versions that are kept after version number (-1: none) is added. The versions in
// pins, ascending, are always kept. If keep limits the number of versions, tainted versions are not counted and not kept.
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

// inGen returns those numbers whose versions belong to a generation. A version that is not in the record is assumed to belong to
// it.
func inGen(rec *record, numbers []int64, gen int) []int64 {
	return slices.DeleteFunc(slices.Clone(numbers), func(n int64) bool {
		v, ok := rec.version(n)
		return ok && v.Generation != gen
	})
}

// add adds a version and removes the versions that are not in keep.
func (r *record) add(v verInfo, keep []int64) {
	r.Versions = append(r.Versions, v)
	if len(keep) < len(r.Versions) {
		r.Versions = slices.DeleteFunc(r.Versions, func(v verInfo) bool { return !slices.Contains(keep, v.Number) })
	}
}

// needed lists the generations that have versions, and the current generation.
func (r *record) needed() []geometry {
	out := make([]geometry, 0, len(r.Generations))
	for i, g := range r.Generations {
		if i == len(r.Generations)-1 || slices.ContainsFunc(r.Versions, func(v verInfo) bool { return v.Generation == g.ID }) {
			out = append(out, g)
		}
	}
	return out
}

// prune removes the files in dead, and all files of generations without versions.
func (r *record) prune(dead map[string]bool) {
	r.Generations = r.needed()
	gens := map[int]bool{}
	for _, g := range r.Generations {
		gens[g.ID] = true
	}
	r.Files = slices.DeleteFunc(r.Files, func(f fileInfo) bool { return dead[f.Name] || !gens[f.Gen] })
}

// stray reports whether name is the name of a data file that is not in the record.
func (r *record) stray(name string) bool {
	if isData(name) {
		return !slices.ContainsFunc(r.Files, func(f fileInfo) bool { return f.Name == name })
	}
	return durable.IsTemp(name)
}

// Drop drops a committed version. It refuses to drop the newest untainted version. The other versions do not change. It is
// collective.
func (a *Array) Drop(ctx context.Context, version int64) error {
	bad := cmp.Or(a.broken, a.cat.record().goes(version))
	if _, pinned := slices.BinarySearch(a.pins, version); bad == nil && pinned {
		bad = fault.Usage("array %s: version %d belongs to a snapshot and cannot be dropped", a.spec.Name, version)
	}
	var b []byte
	if a.c.Rank() == 0 && bad == nil {
		var rec *record
		if rec, bad = a.cat.dropped(ctx, version); bad == nil {
			b, bad = rec.encode()
		}
	}
	if err := sameVersions(ctx, a.c, bad, version); err != nil {
		return err
	}
	b, err := a.c.Bcast(ctx, 0, b)
	if err != nil {
		return err
	}
	rec, err := decodeRecord(b, a.spec.Name) // all ranks decode the same bytes
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

// Taint marks versions as tainted, because they contain an error that was noticed too late. Open, Newest and the retention ignore
// tainted versions, in this program and in later programs. Tainted versions can still be read, restored and dropped. Use
// Hierarchy.Taint for a version that belongs to a snapshot. Taint is collective, and all ranks must pass the same versions. All
// marks are set in one commit, so a kill leaves either all of them or none.
func (a *Array) Taint(ctx context.Context, versions ...int64) error {
	bad := a.broken
	rec, changed, err := a.cat.record().marked(true, versions)
	if bad == nil {
		bad = err
	}
	for _, n := range versions {
		if _, pinned := slices.BinarySearch(a.pins, n); pinned && bad == nil {
			bad = fault.Usage("array %s: version %d belongs to a snapshot; use Hierarchy.Taint", a.spec.Name, n)
		}
	}
	if err := sameVersions(ctx, a.c, bad, versions...); err != nil || !changed {
		return err
	}
	if err := a.writeRecord(ctx, rec); err != nil {
		return err
	}
	return a.install(ctx, rec)
}

// sameVersions is comm.Agree, but also returns an error on all ranks if they pass different numbers.
func sameVersions(ctx context.Context, c comm.Comm, bad error, versions ...int64) error {
	h := fnv.New64a()
	for _, n := range versions {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	sum := int64(h.Sum64())
	ends, err := comm.AgreeMin(ctx, c, bad, sum, ^sum)
	if err == nil && ends[0] != ^ends[1] { // all ranks take this branch
		err = fault.Usage("the ranks pass different versions or levels, want the same on all ranks")
	}
	return err
}

// marked returns a copy of the record in which the versions have the mark tainted. changed reports whether this changes any mark.
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

// Taint marks versions of a level. Before that, in a separate commit, it marks the snapshots that use one of these versions. With
// level -1 it marks the snapshots with the given numbers, and then all versions of levels that only marked snapshots use.
// Snapshots are marked first, so that a kill never leaves an untainted snapshot that contains the error. Taint is collective, and
// all ranks must pass the same arguments.
func (h *Hierarchy) Taint(ctx context.Context, level int, versions ...int64) error {
	if err := sameVersions(ctx, h.c, nil, append([]int64{int64(level)}, versions...)...); err != nil {
		return err
	}
	if level < -1 || level >= len(h.levels) { // all ranks take this branch
		return comm.Agree(ctx, h.c, h.has(level))
	}
	var snaps []int64
	names := make([][]int64, len(h.levels)) // for each level, the versions to be marked
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
		if _, _, err := h.levels[level].cat.record().marked(true, versions); err != nil { // all ranks take this branch; it is before the first mark
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
					continue // the snapshot could not be read
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

// Taint marks versions like Array.Taint, but in a store that no Array has open. If tainted is false, it removes the marks.
func (v *View) Taint(tainted bool, versions ...int64) error {
	rec, changed, err := v.rec.marked(tainted, versions)
	if err != nil || !changed {
		return err
	}
	return v.replace(rec)
}
