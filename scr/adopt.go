package scr

import (
	"context"
	"fmt"
	"path"
	"slices"

	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/salvage"
	"blobio/scr/kvtree"
)

// adopt looks for caches that SCR 1 or 2 left on the nodes (generations A and B). The newest checkpoint in them that can be made
// whole is brought to the prefix directory, as after a crash, from where it is restarted like any other; unless there is one
// that is newer, there or in the caches. The old caches are left as they are.
func (sv *salvager) adopt(ctx context.Context) error {
	node := salvage.Node{Name: sv.node.name, FS: sv.fs, Catalog: sv.catalog.file()}
	var mine []byte
	var err error
	if sv.node.c.Rank() == 0 && !sv.p.cachePurge && sv.p.distribute {
		if mine, err = sv.oldSets(node); err != nil {
			sv.log.Warn("scr: caches of an older SCR cannot be read", "node", sv.node.name, "err", err)
			mine, err = nil, nil
		}
	}
	all, err := sv.c.Allgather(ctx, mine)
	if err != nil {
		return err
	}
	found := map[int]record.Dataset{}
	for _, b := range all {
		if len(b) == 0 {
			continue
		}
		t, err := kvtree.Unpack(b, nil) // of bytes that all ranks have
		if err != nil {
			return err
		}
		for _, sub := range t.All() {
			ds, err := record.ParseDataset(sub, "")
			if err != nil {
				return err
			}
			if old, ok := found[ds.ID]; !ok || better(ds, old) {
				found[ds.ID] = ds
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	var ids []int
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	newest := sv.cache.ids.set
	for _, ds := range found { // their folders stay, so their numbers are not used again
		sv.cache.ids.atLeast(ds.ID, ds.Ckpt)
	}
	for _, id := range slices.Backward(ids) {
		ds := found[id]
		if !ds.Checkpoint || !ds.Complete || id <= newest {
			continue
		}
		newer := false
		err := sv.onRoot(ctx, func() (err error) {
			newer, err = sv.index.hasFrom(id)
			return err
		})
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		if newer, err = sv.rootSays(ctx, newer); err != nil || newer {
			return err
		}
		sv.warn("scr: a checkpoint in caches of an older SCR is brought to the prefix directory", "dataset", ds.Name, "id", id)
		ok, err := sv.save(ctx, node, ds)
		if err != nil || ok {
			return err
		}
	}
	return nil
}

// oldSets lists the datasets of generations A and B of a node.
func (sv *salvager) oldSets(node salvage.Node) ([]byte, error) {
	if all, err := cachedir.Survey(sv.fs, path.Join(sv.p.job.Control, cachedir.MasterName)); err == nil && len(all) == 0 {
		return nil, nil // the usual case: nothing to look at again
	}
	all, err := salvage.Survey(node)
	t := kvtree.New()
	for _, h := range all {
		if h.Old && h.Dataset.ID > 0 {
			t.Set(fmt.Sprint(h.ID), h.Dataset.Tree())
		}
	}
	if t.Len() == 0 {
		return nil, err
	}
	return kvtree.Pack(t)
}
