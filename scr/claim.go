package scr

import (
	"context"
	"path"

	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/transfer"
)

// claim makes way for a file of the prefix directory that is there already; see prefixdir.Claims. Without take it is only
// asked whether the file may be written.
func (s *Session) claim(w *writing, abs string, take bool) error {
	rel, err := s.relative(abs)
	if err != nil {
		return err
	}
	if w.claims == nil {
		if w.claims, err = s.prefix.Claims(w.ds); err != nil {
			return pkg.Errorf("%w", err)
		}
	}
	if !take {
		err = w.claims.Check(rel)
	} else {
		err = s.take(context.Background(), w.claims, w.ds, rel)
	}
	if err != nil {
		return pkg.Errorf("%w", err)
	}
	return nil
}

// foresee is an error if a file of output that goes to the cache could not be flushed: Complete would be too late to learn it.
func (s *Session) foresee(w *writing, abs string) error {
	if !w.ds.Output || s.p.containers {
		return nil
	}
	if s.cfg.Zstd {
		abs += prefixdir.ZstdSuffix
	}
	if _, err := vfs.Lstat(s.cfg.FS, abs); err != nil {
		return nil // not there, or told by the flush
	}
	return s.claim(w, abs, false)
}

// take makes the datasets incomplete that have files which are about to be written.
func (s *Session) take(ctx context.Context, c *prefixdir.Claims, ds record.Dataset, files ...string) error {
	lost, err := c.Claim(ctx, s.c.Rank() == 0 || s.prefix.Lock != kvtree.NoLock, files...)
	for _, e := range lost {
		s.log.Warn("scr: a dataset of the prefix directory is not complete any more: another one has files of the same names",
			"dataset", e.Name, "id", e.ID, "new", ds.Name, "rank", s.c.Rank(), "files", len(files), "first", files[0])
	}
	return err
}

// standing lists the files that a flush is to write and that are in the prefix directory already, by their names there.
func (s *Session) standing(jobs []transfer.Job) ([]string, error) {
	var files []string
	for _, j := range jobs {
		if j.Dst == "" {
			continue // in a container of the dataset's own
		}
		if _, err := vfs.Lstat(s.cfg.FS, j.Dst); err != nil {
			continue
		}
		rel, err := s.relative(path.Clean(j.Dst))
		if err != nil {
			return nil, err
		}
		files = append(files, rel)
	}
	return files, nil
}

// clear makes way for the files of this rank before the first of them is written. Without take it is only asked whether
// they may be.
func (s *Session) clear(ctx context.Context, d *cachedSet, jobs []transfer.Job, take bool) error {
	if d.Bypass {
		return nil // Route did
	}
	ds := d.Dataset
	files, err := s.standing(jobs)
	if err != nil || len(files) == 0 {
		return err
	}
	c, err := s.prefix.Claims(ds)
	if err != nil {
		return err
	}
	if !take {
		return c.Check(files...)
	}
	return s.take(ctx, c, ds, files...)
}
