package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// dropped is the record without some versions. All files must be readable: in one that is not could be what others need.
func (v *View) dropped(ctx context.Context, versions []int64) (*record, error) {
	rec := v.rec.clone()
	for _, n := range versions {
		if err := rec.goes(v.spec.Name, n); err != nil {
			return nil, err
		}
		rec.drop(n)
	}
	var keep []int64
	for _, x := range rec.Versions {
		keep = append(keep, x.Number)
	}
	needed := map[int32]bool{}
	for _, g := range rec.Generations {
		numbers := inGen(rec, keep, g.ID)
		if !slices.ContainsFunc(rec.Versions, func(x verInfo) bool { return x.Gen == g.ID }) {
			continue // all its files go
		}
		for seg := range g.Segs {
			x, err := v.cat.index(ctx, &g, seg)
			if err == nil {
				err = x.err
			}
			if err != nil {
				return nil, err
			}
			x.live(numbers, nil, -1, func(p fileEntry) { needed[p.file] = true })
		}
	}
	dead := map[string]bool{}
	for id, f := range v.cat.files {
		if f != nil && !needed[int32(id)] {
			dead[f.Name] = true
		}
	}
	rec.Seq++
	rec.prune(dead)
	return rec, nil
}

// Expired lists the versions that do not stay with a retention, ascending. The newest one that is not tainted stays.
func (v *View) Expired(keep Retention) []int64 {
	stay := retained(v.rec.Versions, -1, keep, nil)
	var out []int64
	for _, x := range v.rec.Versions {
		if v.rec.goes(v.spec.Name, x.Number) == nil && !slices.Contains(stay, x.Number) {
			out = append(out, x.Number)
		}
	}
	return out
}

// Pinned lists the versions of a level that snapshots of its hierarchy are made of, ascending: without them the hierarchy cannot be
// opened there. Drop does not ask. An array that is no level, or of a hierarchy without snapshots here, has none. ErrKey: the snapshots are
// encrypted, and the view has no key.
func (v *View) Pinned(ctx context.Context) ([]int64, error) {
	name, level := MemberOf(v.spec.Name)
	if name == "" || level < 0 {
		return nil, nil
	}
	g, err := OpenView(filepath.Join(filepath.Dir(filepath.Clean(v.dir)), name+".global"), &ViewOptions{FS: v.fsys, Key: v.key})
	if errors.Is(err, ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var out []int64
	for _, x := range g.rec.Versions {
		if x.Number == 0 || x.Tainted { // before the first snapshot, or not to be opened
			continue
		}
		s, err := g.Snapshot(ctx, x.Number)
		if err != nil {
			return nil, fmt.Errorf("the versions that snapshots need are unknown: %w", err)
		}
		if level < len(s.Versions) {
			out = append(out, s.Versions[level])
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Freed is what Drop of the versions would remove: files and their bytes. What a file holds that is
// needed stays, and so does the whole file; a commit of an array with Retention writes such chunks again when that pays.
func (v *View) Freed(ctx context.Context, versions ...int64) (bytes int64, files int, err error) {
	rec, err := v.dropped(ctx, versions)
	if err != nil {
		return 0, 0, err
	}
	stays := map[string]bool{}
	for _, f := range rec.Files {
		stays[f.Name] = true
	}
	for _, f := range v.rec.Files {
		if stays[f.Name] {
			continue
		}
		if info, err := v.fsys.Stat(filepath.Join(v.dir, f.Name)); err == nil {
			bytes += info.Size()
			files++
		}
	}
	return bytes, files, nil
}

// Drop forgets versions in a store that no array has open, and removes the files that no other version needs. The newest
// one cannot be dropped.
func (v *View) Drop(ctx context.Context, versions ...int64) error {
	rec, err := v.dropped(ctx, versions)
	if err != nil {
		return err
	}
	return v.replace(rec)
}

// replace replaces the record, and removes the files that the new one does not name.
func (v *View) replace(rec *record) error {
	b, err := rec.encode()
	if err != nil {
		return err
	}
	seq, err := lastSeq(v.fsys, v.dir)
	if err != nil {
		return err
	}
	if seq >= rec.Seq {
		return fmt.Errorf("%s: commit %d of another program is there: %w", v.dir, seq, ErrConflict)
	}
	if err := writeRecord(v.fsys, v.dir, b, true); err != nil {
		return err
	}
	v.rec = rec
	v.cat.mu.Lock()
	gone := v.cat.setRecord(rec)
	v.cat.mu.Unlock()
	for _, f := range gone {
		v.cat.open.forget(f.Name)
		if err := v.fsys.Remove(filepath.Join(v.dir, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
