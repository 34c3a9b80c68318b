package versioned

import (
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"cmp"
	"context"
	"slices"
)

// retained lists the numbers of the versions that stay when number (0 or more; -1: none) is added, ascending. Those of
// pins, ascending, stay in any case. Tainted ones go with the first version that is made after them, and do not count.
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

// inGen keeps the numbers of the versions of one generation; those that are not in the record belong to it.
func inGen(rec *record, numbers []int64, gen int) []int64 {
	return slices.DeleteFunc(slices.Clone(numbers), func(n int64) bool {
		v, ok := rec.version(n)
		return ok && v.Generation != gen
	})
}

// add adds a version, and takes those away that are not among keep, ascending.
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

// prune drops files that are not needed: those named, and all of generations without versions.
func (r *record) prune(dead map[string]bool) {
	r.Generations = r.needed()
	gens := map[int]bool{}
	for _, g := range r.Generations {
		gens[g.ID] = true
	}
	r.Files = slices.DeleteFunc(r.Files, func(f fileInfo) bool { return dead[f.Name] || !gens[f.Gen] })
}

// stray reports whether a file is one of an array, but not one that the record names: one that was not finished is neither.
func (r *record) stray(name string) bool {
	if isData(name) {
		return !slices.ContainsFunc(r.Files, func(f fileInfo) bool { return f.Name == name })
	}
	return durable.IsTemp(name)
}

// Drop forgets a committed version, but not the newest one that is not tainted. The others stay as they are. It is collective.
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
	rec, err := decodeRecord(b, a.spec.Name) // the same on all ranks
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
