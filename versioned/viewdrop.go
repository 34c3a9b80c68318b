package versioned

import (
	"blobio/internal/versioned/arrays"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Expired lists the versions that do not stay with a retention, ascending. The newest one that is not tainted stays.
func (v *View) Expired(keep Retention) []int64 {
	stay := retained(v.rec.Versions, -1, keep, nil)
	var out []int64
	for _, x := range v.rec.Versions {
		if v.rec.goes(x.Number) == nil && !slices.Contains(stay, x.Number) {
			out = append(out, x.Number)
		}
	}
	return out
}

// Pinned lists the versions of a level that snapshots of its hierarchy are made of, ascending: without them the hierarchy cannot be
// opened there. Drop does not ask. An array that is no level, or of a hierarchy without snapshots here, has none. ErrKey: the snapshots are
// encrypted, and the view has no key.
func (v *View) Pinned(ctx context.Context) ([]int64, error) {
	name, level := arrays.Member(v.spec.Name)
	if name == "" || level < 0 {
		return nil, nil
	}
	g, err := OpenView(filepath.Join(filepath.Dir(filepath.Clean(v.dir)), name+".global"), v.fsys, v.key)
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

// Drop forgets versions in a store that no array has open, and removes the files that no other version needs: so many, with so many bytes. What
// a file holds that is needed stays, and so does the whole file; a commit of an array with Retention writes such chunks again when that pays.
// The newest version cannot be dropped. A dry run changes nothing.
func (v *View) Drop(ctx context.Context, dry bool, versions ...int64) (bytes int64, files int, err error) {
	rec, err := v.cat.dropped(ctx, versions...)
	if err != nil {
		return 0, 0, err
	}
	for _, f := range v.rec.Files {
		if slices.ContainsFunc(rec.Files, func(o fileInfo) bool { return o.Name == f.Name }) {
			continue
		}
		if info, err := v.fsys.Stat(filepath.Join(v.dir, f.Name)); err == nil {
			bytes += info.Size()
			files++
		}
	}
	if dry || len(versions) == 0 {
		return bytes, files, nil
	}
	return bytes, files, v.replace(rec)
}

// replace replaces the record, and removes the files that the new one does not name.
func (v *View) replace(rec *record) error {
	seq, err := lastSeq(v.fsys, v.dir)
	if err != nil {
		return err
	}
	if seq >= rec.Seq {
		return fmt.Errorf("%s: commit %d of another program is there: %w", v.dir, seq, ErrConflict)
	}
	if err := writeRecord(v.fsys, v.dir, rec, true); err != nil {
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
