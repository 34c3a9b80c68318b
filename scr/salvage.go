package scr

import (
	"context"

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
	var err error
	if s.node.c.Rank() == 0 {
		_, err = salvage.Scavenge(ctx, salvage.ScavengeOptions{
			Node:   salvage.Node{Name: s.node.name, FS: s.bind, Catalog: s.cindex()},
			Prefix: s.prefix, ID: d.ID, Dataset: d.Dataset,
		})
	}
	err = s.agree(ctx, err)
	if err == nil && s.c.Rank() == 0 {
		_, err = salvage.Index(ctx, salvage.Options{Prefix: s.prefix, ID: d.ID, Dataset: d.Dataset, Current: d.Dataset.Checkpoint, Now: s.cfg.Clock})
	}
	err = s.agree(ctx, err)
	if err != nil {
		if fatal(ctx, err) {
			return false, err
		}
		s.warn("scr: it cannot be saved", "dataset", d.Dataset.Name, "err", err)
		return false, nil
	}
	s.saved = max(s.saved, d.ID)
	return true, nil
}
