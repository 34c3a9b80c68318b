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
	"blobio/internal/scr/record"
)

// Some datasets are written directly to the prefix directory, or replace files of a complete dataset. Until such a dataset is
// whole, its files have hidden names, and an older dataset with the same file names stays intact. The steps:
//
//	files under their hidden names, synced
//	map, and an incomplete summary with the key RENAMES     from here on the dataset is whole
//	older datasets with the same file names marked as incomplete
//	each file renamed; in parallel, in any order
//	index, and then summary: complete
//
// After a crash before RENAMES is written, the older dataset is intact. After a later crash, FinishInstalls does the remaining
// steps. Until then neither dataset is complete. Therefore no program reads a mix of their files.

// The base name of a hidden file begins with hiddenPrefix. It ends like the original name, because programs derive the file format
// from the end of the name.
const hiddenPrefix = ".scr."

// Hidden returns the name that a file has until its dataset is whole. The hidden file is in the same folder, because the folder may
// determine where the data are stored.
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

// Rename durably gives files their final names. Several ranks may call Rename concurrently for a shared file, and calls may be
// repeated. absent lists the files that had no hidden name, because they were renamed before or are missing.
func (d *Dir) Rename(files iter.Seq[string]) (absent []string, err error) {
	return durable.RenameAll(d.fs(), func(yield func(a, b string) bool) {
		for name := range files {
			if !yield(Hidden(name), name) {
				return
			}
		}
	}, true)
}

// Withdraw gives up a dataset. No file may have been renamed yet. Withdraw removes the summary and the map; the caller must remove
// the files.
func (d *Dir) Withdraw(id int) error {
	p := d.Datasets.Place(id)
	if err := d.Datasets.RemoveSummary(p); err != nil {
		return err
	}
	return d.Datasets.removeMeta(p)
}

// WithdrawUnfinished gives up datasets that have a map but no summary, and whose files all have hidden names: their run died before
// BeginInstall. Without the hidden files, the map would suggest that files of older datasets are overwritten. No other run may be
// writing.
func (d *Dir) WithdrawUnfinished() error {
	list, err := d.fs().ReadDir(d.File(""))
	if err != nil {
		return err
	}
	x, _, _, err := d.Index.Load()
	if err != nil {
		return err
	}
	listed := x.Entries()
	for _, f := range list {
		id, ok := record.DatasetID(f.Name())
		if !ok || slices.ContainsFunc(listed, func(e Entry) bool { return e.ID == id }) {
			continue
		}
		if _, err := vfs.Lstat(d.fs(), filepath.Join(d.Datasets.Dir(id), summaryName)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		files, err := d.Datasets.pathsOf(d.Datasets.Place(id))
		if err != nil || slices.ContainsFunc(files, func(name string) bool { return !d.isThere(Hidden(filepath.Join(d.Path, name))) }) {
			continue
		}
		d.warn("an unfinished dataset is given up", "dataset", id)
		if err := d.Withdraw(id); err != nil {
			return err
		}
	}
	return nil
}

// FinishInstalls completes installations that a crash or an error interrupted. It renames the files of each whole dataset and lists
// the dataset as complete. If files of a dataset are missing, it deletes the dataset.
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

// installation is a dataset whose files get their final names. The dataset is presumably whole.
type installation struct {
	dir    *Dir
	place  Place
	ds     Dataset
	at     time.Time // time at which the dataset was written
	names  []string  // names of the dataset's files
	hidden []string  // names of files that may still be hidden
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
		d.warn("an unfinished dataset is given up", "dataset", f.ID, "name", ds.Name, "err", bad)
		return i.giveUp()
	}
	d.warn("the files of a complete dataset are renamed", "dataset", f.ID, "name", ds.Name)
	_, err = i.finish(ctx)
	return err
}

// Install durably records that a dataset is whole, renames its hidden files, and lists it as complete. It replaces an older dataset
// with the same name. The map must exist. Install returns the datasets that are now incomplete because the new dataset has
// overwritten their files.
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

// finish does the work of Install: it renames the files and lists the dataset as complete.
func (i *installation) finish(ctx context.Context) ([]Entry, error) {
	d, ds := i.dir, i.ds
	lost, err := i.claims.Claim(ctx, i.names...)
	if err != nil {
		return lost, err
	}
	_, err = d.Rename(func(yield func(string) bool) {
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

// arrived checks that a dataset can be installed, and returns the reason in bad if it cannot. Each file must exist under its hidden
// or its final name. A file under the final name may belong to an older dataset. Therefore arrived compares its CRC-32, or, if the
// map has no CRC-32, checks that the file is not older than the dataset. After a crash between the renames, rank 0 reads all
// renamed files.
func (i *installation) arrived(ctx context.Context, m *Map) (bad, err error) {
	for _, rank := range slices.Sorted(maps.Keys(m.Files)) {
		for _, f := range m.Files[rank] {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			final := filepath.Join(i.place.Data, filepath.FromSlash(f.Path))
			at := Hidden(final)
			st, err := vfs.Lstat(i.dir.fs(), at)
			renamed := errors.Is(err, fs.ErrNotExist)
			if renamed {
				at = final
				st, err = vfs.Lstat(i.dir.fs(), at)
			}
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("%s of rank %d: %w", at, rank, fault.ErrMissing), nil
			case err != nil:
				return nil, err
			case !st.Mode().IsRegular() || st.Size() != f.Size:
				return fmt.Errorf("%s of rank %d: %w: mode %v and %d bytes, want a file of %d bytes", at, rank, fault.ErrCorrupt, st.Mode(), st.Size(), f.Size), nil
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

// giveUp removes a dataset and its hidden files. It keeps files with final names, because they may belong to an older dataset.
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

// Publish lists a dataset as complete. A checkpoint becomes current unless a newer checkpoint is current.
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
		return nil // an older checkpoint may be flushed after a newer one
	}
	return x.SetCurrent(ds.Name)
}
