package scr

import (
	"context"

	"blobio/internal/scr/record"
	"blobio/internal/scr/salvage"
)

// salvager brings what cannot be restarted from the caches to the prefix directory.
type salvager struct {
	*job
	index   *index
	catalog *catalog
	cache   *cache
	saved   int // number of the newest cached checkpoint that was brought there
}

// salvage saves a cached checkpoint of another number of ranks. It cannot be distributed to the ranks of this run, so
// it is brought into the prefix directory as after the end of an allocation, rebuilt there, and read from there. It
// reports whether the dataset is in the prefix directory now. A checkpoint older than one that was saved is not needed.
func (sv *salvager) salvage(ctx context.Context, d *cachedSet, ranks int) (bool, error) {
	if d.Dataset.Checkpoint && !d.Dataset.Output && sv.saved > d.ID {
		return true, nil
	}
	if err := sv.step("salvage"); err != nil {
		return false, err
	}
	sv.warn("scr: a cached dataset was written by another number of ranks; bringing it into the prefix directory",
		"dataset", d.Dataset.Name, "ranks", ranks, "now", sv.c.Size())
	return sv.save(ctx, salvage.Node{Name: sv.node.name, FS: sv.fs, Catalog: sv.catalog.file()}, d.Dataset)
}

// save brings a dataset from the caches of all nodes to the prefix directory; a collective. node is that of this rank. An error
// is one after which the ranks cannot go on.
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
		sv.warn("scr: it cannot be saved", "dataset", ds.Name, "err", err)
		return false, nil
	}
	sv.saved = max(sv.saved, ds.ID)
	return true, nil
}
