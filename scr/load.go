package scr

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"blobio/comm"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// loader fills the cache with the datasets that are found when a session opens.
type loader struct {
	*job
	index      *index
	flushFile  *flushFile
	catalog    *catalog
	cache      *cache
	redundancy *redundancy
	mover      *mover
	salvager   *salvager
}

// load fills the cache with the datasets on the nodes. It also saves datasets that SCR 1 or 2 left. New datasets get numbers
// after all of these. Collective.
func (lo *loader) load(ctx context.Context) error {
	if err := lo.loadCaches(ctx); err != nil {
		return err
	}
	if err := lo.salvager.adopt(ctx); err != nil {
		return err
	}
	return lo.loadIDs(ctx)
}

// loadCaches finds the datasets in the caches of the nodes and restores them, newest first. It moves files to the nodes on which
// their ranks now run, and rebuilds lost files. It deletes a dataset that cannot be rebuilt.
func (lo *loader) loadCaches(ctx context.Context) error {
	found, err := lo.merged(ctx)
	if err != nil {
		return err
	}
	for i := len(found) - 1; i >= 0; i-- {
		d := found[i]
		lo.cache.ids.atLeast(d.ID, d.Dataset.Ckpt)
		keep, err := lo.revive(ctx, d)
		if err != nil {
			return err
		}
		if keep {
			lo.cache.sets = slices.Insert(lo.cache.sets, 0, d)
		}
	}
	return nil
}

// merged merges the catalogues of all nodes. It returns the datasets sorted by number, the same on all ranks.
func (lo *loader) merged(ctx context.Context) ([]*cachedSet, error) {
	var mine []byte
	var own *cachedir.Catalog
	var err error
	if lo.node.c.Rank() == 0 {
		if own, err = lo.catalog.find(); err == nil {
			mine, err = kvtree.Pack(own.Tree())
		}
	}
	if err := lo.agree(ctx, err); err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	all, err := lo.c.Allgather(ctx, mine)
	if err != nil {
		return nil, err
	}
	byID := map[int]*cachedSet{}
	listed := make([]*cachedir.Catalog, len(all)) // indexed by the first rank of a node
	for r, b := range all {
		if len(b) == 0 {
			continue
		}
		t, err := kvtree.Unpack(b, nil)
		if err != nil {
			return nil, fmt.Errorf("catalogue: %w", err)
		}
		c, err := cachedir.ParseCatalog(t, lo.catalog.file())
		if err != nil {
			return nil, fmt.Errorf("catalogue: %w", err)
		}
		listed[r] = c
		for _, e := range c.Entries() {
			if old := byID[e.ID]; old == nil || better(e.Dataset, old.Dataset) {
				byID[e.ID] = &cachedSet{Cached: e, level: lo.cache.levels.forCached(e)}
			}
		}
	}
	var out []*cachedSet
	for _, d := range byID {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, lo.agree(ctx, lo.dropStale(own, byID, listed))
}

func sameDataset(a, b record.Dataset) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Created.Equal(b.Created)
}

// dropStale deletes folders on this node whose dataset differs from the dataset that other nodes have under the same number. Such
// a folder comes from a node that was absent for a while, or is missing in the node's catalogue. If nodes share a device, a
// folder is kept if one of these nodes lists the dataset. c is the catalogue of this node. listed holds the catalogues of all
// nodes, indexed by the first rank of the node.
func (lo *loader) dropStale(c *cachedir.Catalog, byID map[int]*cachedSet, listed []*cachedir.Catalog) error {
	if lo.node.c.Rank() != 0 {
		return nil
	}
	changed := false
	for id, d := range byID {
		if d.level == nil || d.level.shared {
			continue
		}
		if e, ok := c.Entry(id); ok {
			if sameDataset(e.Dataset, d.Dataset) {
				continue
			}
			c.Remove(id)
			changed = true
		}
		if lo.onDevice(d, listed) {
			continue
		}
		if err := cachedir.Delete(lo.fs, d.Path); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	return c.Write(lo.fs, lo.catalog.file())
}

// onDevice reports whether a node that shares this rank's device lists a dataset.
func (lo *loader) onDevice(d *cachedSet, listed []*cachedir.Catalog) bool {
	l := d.level
	for r, c := range listed {
		if c == nil || l.devices[r] != l.device {
			continue
		}
		if e, ok := c.Entry(d.ID); ok && sameDataset(e.Dataset, d.Dataset) {
			return true
		}
	}
	return false
}

// loadIDs makes new datasets get numbers after all datasets in the caches and in the prefix directory.
func (lo *loader) loadIDs(ctx context.Context) error {
	var err error
	if lo.c.Rank() == 0 {
		var x *prefixdir.Index
		if x, _, _, err = lo.index.dir.Index.Load(); err == nil {
			var id int
			if id, err = lo.index.dir.Datasets.LastID(x); err == nil {
				lo.cache.ids.atLeast(id, x.LastCkpt())
			}
		}
	}
	for _, d := range lo.cache.sets {
		lo.cache.ids.atLeast(d.ID, d.Dataset.Ckpt)
	}
	if err := lo.agree(ctx, err); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	out, err := lo.c.AllreduceInt64(ctx, []int64{int64(lo.cache.ids.set), int64(lo.cache.ids.ckpt)}, comm.Max)
	if err != nil {
		return err
	}
	lo.cache.ids = counters{int(out[0]), int(out[1])}
	return nil
}
