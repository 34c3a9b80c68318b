package scr

import (
	"context"
	"slices"

	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/salvage"
)

// salvage saves a cached checkpoint of another number of ranks. It cannot be distributed to the ranks of this run, so
// it is brought into the prefix directory as after the end of an allocation, rebuilt there, and read from there. It
// says whether the dataset is in the prefix directory now. A checkpoint older than one that was saved is not needed.
func (s *Session) salvage(ctx context.Context, d *cachedSet, ranks int) (bool, error) {
	if d.Dataset.Checkpoint && !d.Dataset.Output && s.saved > d.ID {
		return true, nil
	}
	if err := s.step("salvage"); err != nil {
		return false, err
	}
	s.warn("scr: a cached dataset was written by another number of ranks; bringing it into the prefix directory",
		"dataset", d.Dataset.Name, "ranks", ranks, "now", s.c.Size())
	return s.save(ctx, salvage.Node{Name: s.node.name, FS: s.bind, Catalog: s.cindex()}, d.Dataset)
}

// save brings a dataset from the caches of all nodes to the prefix directory; a collective. node is that of this rank. An error
// is one after which the ranks cannot go on.
func (s *Session) save(ctx context.Context, node salvage.Node, ds record.Dataset) (bool, error) {
	var err error
	if s.node.c.Rank() == 0 {
		_, err = salvage.Scavenge(ctx, salvage.ScavengeOptions{Node: node, Prefix: s.prefix, ID: ds.ID, Dataset: ds})
	}
	err = s.agree(ctx, err)
	if err == nil && s.c.Rank() == 0 {
		_, err = salvage.Index(ctx, salvage.Options{Prefix: s.prefix, ID: ds.ID, Dataset: ds, Current: ds.Checkpoint && !s.newerSaved(ds.ID), Now: s.cfg.Clock})
	}
	err = s.agree(ctx, err)
	if err != nil {
		if fatal(ctx, err) {
			return false, err
		}
		s.warn("scr: it cannot be saved", "dataset", ds.Name, "err", err)
		return false, nil
	}
	s.saved = max(s.saved, ds.ID)
	return true, nil
}

// newerSaved says whether the prefix directory has a newer checkpoint to start from. What is left in the caches, after a
// power cut of one that was being deleted, must not take its place.
func (s *Session) newerSaved(id int) bool {
	x, _, _, err := s.prefix.LoadIndex()
	if err != nil {
		return false // told by whoever needs it
	}
	return slices.ContainsFunc(x.Candidates(), func(e prefixdir.Entry) bool { return e.ID > id })
}
