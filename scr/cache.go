package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/spath"
)

// counters holds the numbers of the last dataset and the last checkpoint.
type counters struct{ set, ckpt int }

// count raises the counters to the numbers of a dataset.
func (n *counters) count(ds record.Dataset) {
	n.set = ds.ID
	if ds.Checkpoint {
		n.ckpt = ds.Ckpt
	}
}

// atLeast raises the counters to numbers that are already used.
func (n *counters) atLeast(set, ckpt int) {
	n.set, n.ckpt = max(n.set, set), max(n.ckpt, ckpt)
}

// cachedSet is a dataset in the caches. All ranks know it.
type cachedSet struct {
	cachedir.Cached
	level  *level            // nil: no store of this configuration holds the dataset
	maps   *cachedir.Filemap // file map of this rank
	held   []holding         // the files on each device before they were moved to the ranks
	usable bool              // the dataset was rebuilt or written in this run, so that all files exist
	paths  map[string]string // for each path of the application, the name in the cache; made by the first Route that reads
}

// cache holds the datasets in the caches of this run. It is the same on all ranks.
type cache struct {
	*job
	levels    levels
	catalog   *catalog
	flushFile *flushFile
	flushes   flushes
	sets      []*cachedSet // oldest first
	ids       counters
}

// flushes are the operations on flushes that the cache needs before it deletes a dataset. All methods are collective.
type flushes interface {
	busy(ctx context.Context, id int) (bool, error)  // reports whether the dataset is being flushed in the background
	settle(ctx context.Context, d *cachedSet) error  // waits until the flush of the dataset has ended
	abandon(ctx context.Context, d *cachedSet) error // stops the flush of the dataset
	now(ctx context.Context, d *cachedSet) error     // flushes the dataset, unless it is in the prefix directory
}

// newest returns the newest usable checkpoint in the caches, or nil if there is none.
func (ca *cache) newest() *cachedSet {
	for i := len(ca.sets) - 1; i >= 0; i-- {
		if d := ca.sets[i]; d.usable && d.Dataset.Checkpoint {
			return d
		}
	}
	return nil
}

// find returns the cached dataset with this name, or nil if there is none.
func (ca *cache) find(name string) *cachedSet {
	for _, d := range ca.sets {
		if d.Dataset.Name == name {
			return d
		}
	}
	return nil
}

// outdated deletes the cached checkpoints that are newer than dataset id, from which the run continues. They must be deleted
// because the next datasets will have their names.
func (ca *cache) outdated(ctx context.Context, id int) error {
	for _, d := range append([]*cachedSet(nil), ca.sets...) {
		if d.ID > id && d.Dataset.Checkpoint {
			if err := ca.drop(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeRoom deletes the oldest datasets of a store until there is room for another dataset. If possible it keeps a dataset that
// is being flushed. If no other dataset is left, it waits for the flush.
func (ca *cache) makeRoom(ctx context.Context, l *level) error {
	for {
		var in []*cachedSet
		for _, d := range ca.sets {
			if path.Dir(d.Path) == l.dir {
				in = append(in, d)
			}
		}
		if int64(len(in)) < max(l.count, 1) {
			return nil
		}
		victim, err := ca.victim(ctx, in)
		if err != nil {
			return err
		}
		if err := ca.flushes.settle(ctx, victim); err != nil {
			return err
		}
		if victim.usable && victim.Dataset.Output {
			// The flush of this output failed, or the run died before the flush. The user wants the output, and this is the
			// only copy.
			if err := ca.flushes.now(ctx, victim); err != nil {
				return fmt.Errorf("no space in %s: it is full of output that is only in the caches: %w", l.dir, err)
			}
		}
		if err := ca.drop(ctx, victim); err != nil {
			return err
		}
	}
}

// victim returns the dataset to delete. It prefers an unusable dataset, then the oldest dataset that is not being flushed. It
// returns the newest checkpoint only if there is no flush of another dataset to wait for.
func (ca *cache) victim(ctx context.Context, in []*cachedSet) (*cachedSet, error) {
	for _, d := range in {
		if !d.usable {
			return d, nil
		}
	}
	newest := ca.newest()
	for _, d := range in {
		busy, err := ca.flushes.busy(ctx, d.ID)
		if err != nil {
			return nil, err
		}
		if !busy && d != newest {
			return d, nil
		}
	}
	return in[0], nil
}

// drop deletes a dataset from the caches: first the files, then the entry in the catalogue.
func (ca *cache) drop(ctx context.Context, d *cachedSet) error {
	// Delete only if all ranks are alive, because the death of a rank may have caused the error that led here.
	if err := ca.c.Barrier(ctx); err != nil {
		return err
	}
	if err := ca.step("delete"); err != nil {
		return err
	}
	if err := ca.flushes.abandon(ctx, d); err != nil {
		return err
	}
	if ca.p.crcDelete && d.usable && d.maps != nil {
		if err := ca.agree(ctx, ca.checkFiles(ctx, d, true)); err != nil {
			if fatal(ctx, err) {
				return err
			}
			ca.warn("scr: a dataset to be deleted is damaged", "dataset", d.Dataset.Name, "err", err)
		}
	}
	d.usable = false // the dataset is unusable even if the deletion fails in part
	err := ca.removeOwn(d)
	if err == nil {
		err = ca.removeDir(d.level, d.Path)
	}
	if err := ca.agree(ctx, err); err != nil {
		return fmt.Errorf("delete %s: %w", d.Path, err)
	}
	err = ca.catalog.change(func(c *cachedir.Catalog) { c.Remove(d.ID) })
	if err == nil {
		err = ca.flushFile.setDropped(d.ID)
	}
	if err := ca.agree(ctx, err); err != nil {
		return err
	}
	for i, e := range ca.sets {
		if e == d {
			ca.sets = append(ca.sets[:i:i], ca.sets[i+1:]...)
			break
		}
	}
	return nil
}

// removeOwn deletes this rank's files in the folder of a dataset, while other ranks delete theirs. The first rank of the device may
// find some of them gone, and deletes the rest.
func (ca *cache) removeOwn(d *cachedSet) error {
	if d.maps == nil || d.Bypass {
		return nil
	}
	for _, f := range d.maps.Files() {
		if !spath.IsChild(d.Path, f.Name) {
			continue
		}
		if err := ca.fs.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeDir deletes the folder of a dataset. The first rank of the device does it.
func (ca *cache) removeDir(l *level, dir string) error {
	if l.dc.Rank() != 0 {
		return nil
	}
	return cachedir.Delete(ca.fs, dir)
}

// makeDir creates the folder of a cached dataset. The first rank of the device does it.
func (ca *cache) makeDir(l *level, dir string) error {
	if l.dc.Rank() != 0 {
		return nil
	}
	if err := durable.MkdirAll(ca.fs, cachedir.MetaDir(dir), true); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return vfs.SyncParent(ca.fs, cachedir.MetaDir(dir))
}

// commit marks a dataset as complete in the catalogues of all nodes. From then on a restart may use the dataset.
func (ca *cache) commit(ctx context.Context, d *cachedSet, ds record.Dataset) error {
	if err := ca.step("commit"); err != nil {
		return err
	}
	d.Dataset = ds
	err := ca.catalog.change(func(c *cachedir.Catalog) { c.Put(d.Cached) })
	return ca.agree(ctx, err)
}
