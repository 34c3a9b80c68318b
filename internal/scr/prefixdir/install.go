package prefixdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Some datasets are written directly in the prefix directory, or replace files of a complete dataset. Their files have hidden names
// until the dataset is whole. An older dataset with the same file names stays intact until then. The steps:
//
//	files under their hidden names, synced
//	map, and an incomplete summary with the key RENAMES     from here on the dataset is whole
//	older datasets with the same file names marked as incomplete
//	each file renamed; in parallel, in any order
//	index, and then summary: complete
//
// A crash before RENAMES leaves the older dataset intact. After a later crash, FinishInstalls does the remaining steps. Until
// then neither dataset is complete, so that no program reads a mix of their files.

// hiddenPrefix begins the base name of a hidden file. The end of the name stays, because programs derive the file format from it.
const hiddenPrefix = ".scr."

// Hidden returns the name that a file has until its dataset is whole. It is in the same folder, because the folder may determine
// where the data are stored.
func Hidden(name string) string {
	base := path.Base(name)
	if len(hiddenPrefix)+len(base) > 255 {
		base = strconv.FormatUint(xxh3.HashString(base), 16) + path.Ext(base)[:min(len(path.Ext(base)), 32)]
	}
	return path.Join(path.Dir(name), hiddenPrefix+base)
}

// IsHidden reports whether a name has the form that Hidden returns.
func IsHidden(name string) bool {
	base := path.Base(name)
	return len(base) > len(hiddenPrefix) && base[:len(hiddenPrefix)] == hiddenPrefix
}

// BeginInstall durably records that all files of a dataset are whole under their hidden names. The map must exist.
func (d *Dir) BeginInstall(ds Dataset) error { return d.Datasets.writeSummary(ds, false, true) }

// Rename durably gives files their final names. The ranks of a shared file may call it concurrently, and it may be repeated.
func (d *Dir) Rename(files iter.Seq[string]) error {
	return durable.RenameAll(d.fs(), func(yield func(a, b string) bool) {
		for name := range files {
			if !yield(Hidden(name), name) {
				return
			}
		}
	}, true)
}

// Withdraw gives up a dataset before any file was renamed. It removes the summary and the map; the caller removes the files.
func (d *Dir) Withdraw(id int) error {
	p := d.Datasets.Place(id)
	if err := d.Datasets.RemoveSummary(p); err != nil {
		return err
	}
	return d.Datasets.removeMeta(p)
}

// FinishInstalls completes installations that a crash or an error interrupted: it renames the files of each whole dataset and
// lists it as complete. It deletes a dataset that lacks files.
func (d *Dir) FinishInstalls(ctx context.Context) error {
	found, err := d.Datasets.Survey()
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Err != nil || !f.Summary.Renames || f.Summary.Dropped {
			continue
		}
		if err := d.finishInstall(ctx, f); err != nil {
			return fmt.Errorf("dataset %d: %w", f.ID, err)
		}
	}
	return nil
}

// installation is a dataset, presumably whole, whose files get their final names.
type installation struct {
	dir    *Dir
	place  Place
	ds     Dataset
	at     time.Time // when the dataset was written
	names  []string  // names of its files
	hidden []string  // names whose files may still be hidden
	claims *Claims
}

func (d *Dir) finishInstall(ctx context.Context, f Found) error {
	ds := f.Summary.Dataset
	m, err := d.Datasets.ReadMap(f.Place)
	bad := err
	if err != nil && !fault.IsDamage(err) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c, err := d.Claims(ds)
	if err != nil {
		return err
	}
	names := m.Paths()
	i := installation{dir: d, place: f.Place, ds: ds, at: f.Written, names: names, hidden: names, claims: c}
	if bad == nil {
		bad = m.Check(ds)
	}
	if bad == nil {
		bad = c.Check(names...)
	}
	if bad == nil {
		bad, err = i.arrived(ctx, m)
		if err != nil {
			return err
		}
	}
	if bad != nil {
		d.warn("unfinished dataset is given up", "dataset", f.ID, "name", ds.Name, "err", bad)
		return i.giveUp()
	}
	d.warn("files of a complete dataset are renamed", "dataset", f.ID, "name", ds.Name)
	_, err = i.finish(ctx)
	return err
}

// Install durably records that a dataset is whole, renames its hidden files, and lists it as complete. It replaces an older
// dataset of the same name. The map must exist. Install returns the datasets that lost files to the new one and are now
// incomplete.
func (d *Dir) Install(ctx context.Context, ds Dataset, at time.Time, names, hidden []string) ([]Entry, error) {
	if err := d.BeginInstall(ds); err != nil {
		return nil, err
	}
	c, err := d.Claims(ds)
	if err != nil {
		return nil, err
	}
	i := installation{dir: d, place: d.Datasets.Place(ds.ID), ds: ds, at: at, names: names, hidden: hidden, claims: c}
	return i.finish(ctx)
}

// finish renames the files and lists the dataset; see Install.
func (i *installation) finish(ctx context.Context) ([]Entry, error) {
	d, ds := i.dir, i.ds
	lost, err := i.claims.Claim(ctx, i.names...)
	if err != nil {
		return lost, err
	}
	err = d.Rename(func(yield func(string) bool) {
		for _, name := range i.hidden {
			if !yield(filepath.Join(i.place.Data, filepath.FromSlash(name))) {
				return
			}
		}
	})
	if err != nil {
		return lost, err
	}
	x, _, _, err := d.Index.Load()
	if err != nil {
		return lost, err
	}
	if old, ok := x.Entry(ds.Name); ok && old.ID != ds.ID {
		keep := map[string]bool{}
		for _, name := range i.names {
			keep[name] = true
		}
		if err := d.DeleteExcept(ctx, ds.Name, keep); err != nil {
			return lost, err
		}
	}
	if err := d.Index.Update(ctx, func(x *Index) error { return x.Publish(ds, i.at) }); err != nil {
		return lost, err
	}
	return lost, d.Datasets.WriteSummary(ds, true)
}

// arrived returns in bad the reason why a dataset cannot be installed. Each file must exist under its hidden or its final name. A
// file with the final name may belong to an older dataset, so arrived compares its CRC-32. Without a CRC-32 the file must not be
// older than the dataset. After a crash between the renames, rank 0 reads all renamed files.
func (i *installation) arrived(ctx context.Context, m *Map) (bad, err error) {
	for _, rank := range slices.Sorted(maps.Keys(m.Files)) {
		for _, f := range m.Files[rank] {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			at := filepath.Join(i.place.Data, filepath.FromSlash(f.Path))
			st, err := vfs.Lstat(i.dir.fs(), Hidden(at))
			renamed := errors.Is(err, fs.ErrNotExist)
			if renamed {
				st, err = vfs.Lstat(i.dir.fs(), at)
			}
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("%s of rank %d: %w", at, rank, fault.ErrMissing), nil
			case err != nil:
				return nil, err
			case !st.Mode().IsRegular() || st.Size() != f.Size:
				return fmt.Errorf("%s of rank %d: %w: %v of %d bytes, want a file of %d", at, rank, fault.ErrCorrupt, st.Mode().Type(), st.Size(), f.Size), nil
			case !renamed:
			case f.HasCRC:
				crc, _, err := vfs.SumFile(ctx, i.dir.fs(), at)
				if err != nil {
					return nil, err
				}
				if crc != f.CRC {
					return fmt.Errorf("%s of rank %d: %w: CRC-32 %#x, want %#x (the file belongs to another dataset)", at, rank, fault.ErrChecksum, crc, f.CRC), nil
				}
			case st.ModTime().Add(clockStep).Before(i.ds.Created):
				return fmt.Errorf("%s of rank %d: %w: written at %v, want %v or later (the file belongs to another dataset)", at, rank, fault.ErrCorrupt, st.ModTime(), i.ds.Created), nil
			}
		}
	}
	return nil, nil
}

// giveUp removes a dataset and its hidden files. Files with final names stay: they may belong to an older dataset.
func (i *installation) giveUp() error {
	d := &i.dir.Datasets
	if err := d.RemoveSummary(i.place); err != nil {
		return err
	}
	for _, name := range i.names {
		if err := d.fs().Remove(Hidden(filepath.Join(i.place.Data, filepath.FromSlash(name)))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.removeMeta(i.place)
}

// Publish lists a dataset as complete. A checkpoint becomes current unless the current one is newer.
func (x *Index) Publish(ds Dataset, at time.Time) error {
	if err := x.Add(ds, true); err != nil {
		return err
	}
	if err := x.MarkFlushed(ds.Name, at); err != nil {
		return err
	}
	if !ds.Checkpoint {
		return nil
	}
	if e, ok := x.Entry(x.Current()); ok && e.ID > ds.ID {
		return nil // an older checkpoint may be flushed later
	}
	return x.SetCurrent(ds.Name)
}
