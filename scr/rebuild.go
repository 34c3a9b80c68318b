package scr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/zeebo/xxh3"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/runlog"
	"blobio/internal/scr/salvage"
	"blobio/internal/scr/spath"
	"blobio/scr/redset"
)

// revive restores one dataset, and reports whether the dataset stays in the caches. If the dataset is then usable, the run may
// restart from it. An error means that the communication or a local disk failed.
func (lo *loader) revive(ctx context.Context, d *cachedSet) (bool, error) {
	if d.level == nil {
		lo.warn("scr: a cached dataset is ignored, because no store of this configuration contains it", "dataset", d.Dataset.Name, "path", d.Path)
		return false, nil
	}
	if d.Path != path.Join(d.level.dir, record.DefaultName(d.ID)) {
		lo.warn("scr: a cached dataset is ignored, because its folder does not match its number", "dataset", d.Dataset.Name, "path", d.Path)
		return false, nil
	}
	if !d.Dataset.Complete || lo.p.cachePurge || !lo.p.distribute {
		return false, lo.forget(ctx, d)
	}
	began := lo.cfg.Clock()
	lo.event(runlog.Entry{Event: runlog.RebuildStart, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name})
	err := lo.rebuild(ctx, d)
	if err == nil {
		d.usable = true
		lo.event(runlog.Entry{Event: runlog.RebuildSuccess, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name, Took: lo.took(began)})
		return true, lo.relist(ctx, d)
	}
	lo.event(runlog.Entry{Event: runlog.RebuildFail, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name, Took: lo.took(began)})
	if fatal(ctx, err) {
		return false, err
	}
	var other *ranksError
	ranks := int64(0)
	if errors.As(err, &other) {
		ranks = int64(other.ranks)
	}
	by, rerr := lo.c.AllreduceInt64(ctx, []int64{ranks}, comm.Max)
	if rerr != nil {
		return false, rerr
	}
	if by[0] > 0 {
		ok, serr := lo.salvager.salvage(ctx, d, int(by[0]))
		if serr != nil {
			return false, serr
		}
		if ok {
			return false, lo.forget(ctx, d)
		}
		// Keep the dataset for a run with the number of ranks that wrote it.
		lo.warn("scr: a dataset is left in the caches", "dataset", d.Dataset.Name, "id", d.ID, "err", err)
		return false, nil
	}
	lo.warn("scr: a cached dataset cannot be rebuilt", "dataset", d.Dataset.Name, "id", d.ID, "err", err)
	// Keep the dataset, but do not offer it, because a file that cannot be read now may be readable in the next run. It is
	// deleted when the run continues from an older dataset, or to make room.
	return true, nil
}

// rebuild distributes the files of a dataset and rebuilds lost files.
func (lo *loader) rebuild(ctx context.Context, d *cachedSet) error {
	err := lo.catalog.change(func(c *cachedir.Catalog) { c.Put(d.Cached) })
	if err == nil {
		err = lo.cache.makeDir(d.level, d.Path)
	}
	if err := lo.agree(ctx, err); err != nil {
		return err
	}
	if err := lo.mover.distribute(ctx, d); err != nil {
		return err
	}
	if err := lo.step("rebuild"); err != nil {
		return err
	}
	if err := lo.redundancy.recoverMaps(ctx, d); err != nil {
		return err
	}
	mapName := cachedir.FilemapName(d.Path, lo.c.Rank())
	d.maps, err = cachedir.ReadFilemap(lo.fs, mapName)
	if err == nil {
		for _, f := range d.maps.Files() {
			if f.Meta.Ranks != 0 && f.Meta.Ranks != lo.c.Size() {
				err = &ranksError{f.Meta.Ranks, lo.c.Size()}
			}
		}
	}
	if err := lo.agree(ctx, err); err != nil {
		return err
	}
	if !d.Bypass {
		if err := lo.distinct(ctx, d); err != nil {
			return err
		}
		rep, err := lo.redundancy.recoverFiles(ctx, d)
		if err != nil {
			return fmt.Errorf("files: %w", err)
		}
		if n := len(rep.Rebuilt); n > 0 {
			lo.log.Info("scr: rebuilt", "dataset", d.Dataset.Name, "rank", lo.c.Rank(), "files", n, "corrupt", len(rep.Corrupt))
		}
		// If the original SCR wrote the dataset, only existence and sizes can be checked, unless the map has checksums.
		if err := lo.agree(ctx, lo.checkFiles(ctx, d, !rep.Verified)); err != nil {
			return err
		}
	} else if err := lo.agree(ctx, lo.checkFiles(ctx, d, true)); err != nil {
		return err
	}
	if err := lo.redundancy.reseal(ctx, d); err != nil {
		return err
	}
	return lo.agree(ctx, lo.mover.sweep(d))
}

// distinct checks the names of files that will be rebuilt. No two ranks of a device may have files with the same name.
func (lo *loader) distinct(ctx context.Context, d *cachedSet) error {
	var mine []byte
	for _, f := range d.maps.Files() {
		mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(f.Name))
	}
	all, err := d.level.dc.Allgather(ctx, mine)
	if err != nil {
		return err
	}
	seen := map[uint64]bool{}
	for _, b := range all {
		for ; len(b) >= 8; b = b[8:] {
			n := binary.BigEndian.Uint64(b)
			if seen[n] {
				err = fmt.Errorf("dataset %s: %w: files of ranks that are now on one node have the same name in the cache", d.Dataset.Name, ErrCorrupt)
			}
			seen[n] = true
		}
	}
	return lo.agree(ctx, err)
}

// forget deletes a dataset that loader has not added to the cache.
func (lo *loader) forget(ctx context.Context, d *cachedSet) error {
	if d.Bypass && !d.Dataset.Complete && d.level.dc.Rank() == 0 {
		lo.sweepHidden(d)
	}
	lo.cache.sets = append(lo.cache.sets, d)
	return lo.cache.drop(ctx, d)
}

// sweepHidden removes the hidden files of a dataset that a dead run wrote to the prefix directory.
func (lo *loader) sweepHidden(d *cachedSet) {
	names, err := ranksIn(lo.fs, d.Path)
	if err != nil {
		return // deleting the folder will return the error
	}
	for r := range names {
		m, err := cachedir.ReadFilemap(lo.fs, cachedir.FilemapName(d.Path, r))
		if err != nil {
			continue
		}
		for _, f := range m.Files() {
			if !prefixdir.IsHidden(f.Name) || !spath.IsChild(lo.p.prefix, f.Name) {
				continue
			}
			if err := lo.cfg.FS.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				lo.log.Warn("scr: cannot remove leftovers of a run that died", "file", f.Name, "err", err)
			}
		}
	}
}

// relist adds a rebuilt dataset to the catalogue of this node and to the flush file.
func (lo *loader) relist(ctx context.Context, d *cachedSet) error {
	err := lo.catalog.change(func(c *cachedir.Catalog) { c.Put(d.Cached) })
	if err == nil {
		err = lo.flushFile.setFound(d.Dataset)
	}
	return lo.agree(ctx, err)
}

// beyondRepair reports whether another attempt would return the same error.
func beyondRepair(err error) bool {
	var lost *redset.LostError
	return errors.As(err, &lost) || errors.Is(err, redset.ErrNone) || errors.Is(err, ErrMissing) || errors.Is(err, ErrCorrupt) ||
		errors.Is(err, ErrChecksum) || errors.Is(err, fault.ErrTruncated)
}

// salvager saves cached datasets to the prefix directory if the run cannot restart from the caches.
type salvager struct {
	*job
	index   *index
	catalog *catalog
	cache   *cache
	saved   int // number of the newest cached checkpoint that was saved to the prefix directory
}

// salvage saves a cached checkpoint that another number of ranks wrote. Its files cannot be distributed to the ranks of this run.
// Therefore salvage copies them to the prefix directory, as after the end of an allocation, and rebuilds lost files there. The
// restart then reads the checkpoint there. salvage reports whether the dataset is now in the prefix directory. It skips
// checkpoints that are older than a saved checkpoint.
func (sv *salvager) salvage(ctx context.Context, d *cachedSet, ranks int) (bool, error) {
	if d.Dataset.Checkpoint && !d.Dataset.Output && sv.saved > d.ID {
		return true, nil
	}
	if err := sv.step("salvage"); err != nil {
		return false, err
	}
	sv.warn("scr: a different number of ranks wrote a cached dataset; copying the dataset to the prefix directory",
		"dataset", d.Dataset.Name, "ranks", ranks, "now", sv.c.Size())
	return sv.save(ctx, salvage.Node{Name: sv.node.name, FS: sv.fs, Catalog: sv.catalog.file()}, d.Dataset)
}

// save copies a dataset from the caches of all nodes to the prefix directory. Collective. node is this rank's node. If save
// returns an error, the ranks cannot continue.
func (sv *salvager) save(ctx context.Context, node salvage.Node, ds record.Dataset) (bool, error) {
	var err error
	if sv.node.c.Rank() == 0 {
		_, err = salvage.Scavenge(ctx, salvage.ScavengeOptions{Node: node, Prefix: sv.index.dir, ID: ds.ID, Dataset: ds})
	}
	err = sv.agree(ctx, err)
	if err == nil && sv.c.Rank() == 0 {
		_, err = salvage.Index(ctx, salvage.Options{Prefix: sv.index.dir, ID: ds.ID, Dataset: ds, Current: ds.Checkpoint && !sv.index.hasNewer(ds.ID), Now: sv.cfg.Clock})
	}
	err = sv.agree(ctx, err)
	if err != nil {
		if fatal(ctx, err) {
			return false, err
		}
		sv.warn("scr: the dataset cannot be saved", "dataset", ds.Name, "err", err)
		return false, nil
	}
	sv.saved = max(sv.saved, ds.ID)
	return true, nil
}
