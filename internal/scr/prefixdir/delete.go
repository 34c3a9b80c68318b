package prefixdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"blobio/internal/base/fault"
)

// Delete removes a dataset from the index and from the disk: its files, its metadata, and the folders that become empty. After a
// crash at any moment the dataset is either whole, or incomplete according to the index and the missing summary. Cancelling ctx
// stops Delete between two files. Files that also belong to another dataset are kept, because an application may use the same
// file names in each dataset.
func (d *Dir) Delete(ctx context.Context, name string) error { return d.DeleteExcept(ctx, name, nil) }

// DeleteExcept is like Delete, but also keeps the files of a dataset that is not in the index yet. keep holds their names, as in
// File.Path.
func (d *Dir) DeleteExcept(ctx context.Context, name string, keep map[string]bool) error {
	var e Entry
	var others []Entry
	err := d.Index.Update(ctx, func(x *Index) error {
		var ok bool
		if e, ok = x.Entry(name); !ok {
			return missing(name)
		}
		if err := d.demoteOverwritten(x); err != nil {
			return err
		}
		others = others[:0]
		for _, o := range x.Entries() {
			if o.Name != name && o.Complete {
				others = append(others, o)
			}
		}
		return x.SetComplete(name, false)
	})
	if err != nil {
		return err
	}
	if p, err := d.Datasets.Locate(e); err == nil {
		if err := d.Datasets.deleteFiles(ctx, p, others, keep); err != nil {
			return fmt.Errorf("deleting dataset %d: %w", e.ID, err)
		}
	} else if p := d.Datasets.Place(e.ID); errors.Is(err, fault.ErrMissing) { // unfinished, or partly deleted
		if err := d.Datasets.deleteFiles(ctx, p, others, keep); err != nil {
			return fmt.Errorf("deleting dataset %d: %w", e.ID, err)
		}
	} else {
		return err
	}
	return d.Index.Update(ctx, func(x *Index) error { return x.Remove(name) })
}

// shared lists the files of all other datasets, and the files in keep. own is the number of the dataset to be deleted.
func (d *Datasets) shared(own int, others []Entry, keep map[string]bool) (map[string]bool, error) {
	all := map[string]bool{}
	for name := range keep {
		all[filepath.Join(d.Path, filepath.FromSlash(name))] = true
	}
	found, err := d.Survey()
	if err != nil {
		return nil, err
	}
	var places []Place
	for _, f := range found { // datasets that are whole, but not yet complete in the index
		if f.Err == nil && f.Summary.Renames && f.ID != own {
			places = append(places, f.Place)
		}
	}
	for _, o := range others {
		p, err := d.Locate(o)
		if err == nil {
			places = append(places, p)
		} else if !lost(err) {
			return nil, err
		}
	}
	for _, p := range places {
		m, err := d.ReadMap(p)
		if err != nil && !lost(err) { // if a dataset's metadata are lost, its files are useless
			return nil, err
		}
		for _, name := range m.Paths() {
			all[filepath.Join(p.Data, filepath.FromSlash(name))] = true
		}
	}
	return all, nil
}

// deleteFiles removes the files of a dataset. It removes the summary first and the map last.
func (d *Datasets) deleteFiles(ctx context.Context, p Place, others []Entry, keep map[string]bool) error {
	m, err := d.ReadMap(p)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if !fault.IsDamage(err) {
			return err
		}
		d.warn("the files of a dataset are unknown and are not deleted", "dataset", p.ID, "err", err)
	}
	stay, err := d.shared(p.ID, others, keep)
	if err != nil {
		return err
	}
	names := m.Paths()
	if s, err := d.ReadSummary(p); err == nil && s.Renames {
		for _, name := range m.Paths() {
			names = append(names, Hidden(name))
		}
	}
	if err := d.RemoveSummary(p); err != nil {
		return err
	}
	folders := map[string]bool{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		file := filepath.Join(p.Data, filepath.FromSlash(name))
		if stay[file] {
			continue
		}
		if err := d.fs().Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		folders[filepath.Dir(file)] = true
	}
	for folder := range folders {
		d.removeEmpty(folder)
	}
	return d.removeMeta(p)
}

// removeMeta removes the metadata of a dataset. Its summary must already be removed.
func (d *Datasets) removeMeta(p Place) error {
	list, err := d.fs().ReadDir(p.Meta)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range list {
		if entry.IsDir() || !ourMeta(entry.Name()) {
			continue
		}
		if err := d.fs().Remove(filepath.Join(p.Meta, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if entry.Name() == mapName { // a map without parts would cast doubt on older datasets
			if err := d.fs().SyncDir(p.Meta); err != nil {
				return err
			}
		}
	}
	d.removeEmpty(p.Meta)
	return nil
}

// removeEmpty removes a folder and its parents up to the metadata folder or the prefix directory. It stops at the first folder
// that is not empty.
func (d *Datasets) removeEmpty(folder string) {
	for {
		rel, err := filepath.Rel(d.Path, folder)
		if err != nil || rel == "." || rel == MetaDir || !filepath.IsLocal(rel) {
			return
		}
		list, err := d.fs().ReadDir(folder)
		if err != nil || len(list) > 0 || d.fs().Remove(folder) != nil {
			return
		}
		folder = filepath.Dir(folder)
	}
}
