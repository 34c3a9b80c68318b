package scr

import (
	"context"
	"path"

	"blobio/scr/cachedir"
)

// makeRoom deletes the oldest datasets of a store until another one may come. What is being flushed is kept as long as
// there is something else to delete, and waited for otherwise.
func (s *Session) makeRoom(ctx context.Context, l *level) error {
	for {
		var in []*cachedSet
		for _, d := range s.cached {
			if path.Dir(d.Path) == l.dir {
				in = append(in, d)
			}
		}
		if int64(len(in)) < max(l.count, 1) {
			return nil
		}
		victim, err := s.victim(ctx, in)
		if err != nil {
			return err
		}
		if err := s.async.settle(ctx, victim); err != nil {
			return err
		}
		if victim.usable && victim.Dataset.Output {
			// Its flush failed, or the run died before it. It is wanted, and here is the only copy.
			if err := s.flushSync(ctx, victim); err != nil {
				return pkg.Errorf("no room in %s: output is in the caches alone: %w", l.dir, err)
			}
		}
		if err := s.drop(ctx, victim); err != nil {
			return err
		}
	}
}

// victim is the dataset to delete: one that is of no use, else the oldest that is not being flushed, but not the newest
// checkpoint as long as another one can be waited for.
func (s *Session) victim(ctx context.Context, in []*cachedSet) (*cachedSet, error) {
	for _, d := range in {
		if !d.usable {
			return d, nil
		}
	}
	newest := s.newest()
	for _, d := range in {
		busy, err := s.async.busy(ctx, d.ID)
		if err != nil {
			return nil, err
		}
		if !busy && d != newest {
			return d, nil
		}
	}
	return in[0], nil
}

// drop deletes a dataset from the caches: the files before the entry in the catalogue.
func (s *Session) drop(ctx context.Context, d *cachedSet) error {
	// Nobody deletes anything unless all are here: the error that led to this may be that somebody died.
	if err := s.c.Barrier(ctx); err != nil {
		return err
	}
	if err := s.step("delete"); err != nil {
		return err
	}
	if err := s.async.abandon(ctx, d); err != nil {
		return err
	}
	if s.p.crcDelete && d.usable && d.maps != nil {
		if err := s.agree(ctx, s.checkFiles(d, true)); err != nil {
			if fatal(ctx, err) {
				return err
			}
			s.warn("scr: a dataset to be deleted is damaged", "dataset", d.Dataset.Name, "err", err)
		}
	}
	d.usable = false // also if it can be deleted in part only
	err := s.removeDir(&s.levels[d.level], d.Path)
	if err := s.agree(ctx, err); err != nil {
		return pkg.Errorf("delete %s: %w", d.Path, err)
	}
	err = s.list(func(c *cachedir.Catalog) { c.Remove(d.ID) })
	if err == nil {
		err = s.flushFile(ctx, func(f *flushEdit) error { return f.clear(d.ID) })
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	for i, e := range s.cached {
		if e == d {
			s.cached = append(s.cached[:i:i], s.cached[i+1:]...)
			break
		}
	}
	return nil
}

// removeDir deletes the folder of a dataset; the first rank of the device does.
func (s *Session) removeDir(l *level, dir string) error {
	s.fs.forget(dir)
	if l.dc.Rank() != 0 {
		return nil
	}
	return cachedir.Delete(s.bind, dir)
}
