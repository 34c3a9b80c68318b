package scr

import (
	"context"
	"errors"
	"fmt"
	"path"

	"blobio/internal/durable"
	"blobio/kvtree"
	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/transfer"
)

// sweepPrefix removes what killed flushes left unfinished in the folders that this rank writes to; where all ranks write to one
// folder, rank 0 does.
func (s *Session) sweepPrefix(ctx context.Context, jobs []transfer.Job) error {
	dirs := map[string]bool{}
	for _, j := range jobs {
		if j.Dst != "" {
			dirs[path.Dir(j.Dst)] = true
		}
	}
	first := ""
	for d := range dirs {
		if first == "" || d < first {
			first = d
		}
	}
	b, err := s.c.Bcast(ctx, 0, []byte(first))
	if err != nil {
		return err
	}
	if s.c.Rank() != 0 {
		delete(dirs, string(b))
	}
	for d := range dirs {
		if _, err := durable.Sweep(s.cfg.FS, d, s.opened); err != nil {
			s.log.Warn("scr: leftovers of a flush", "dir", d, "err", err)
		}
	}
	return nil
}

// bypassed brings to rank 0 the names of the files that the ranks have written to the prefix directory at once; a
// collective.
func (s *Session) bypassed(ctx context.Context, d *cachedSet) (map[string]bool, error) {
	if !d.Bypass {
		return nil, nil
	}
	var files []prefixdir.File
	var err error
	for _, f := range d.maps.Files() {
		var rel string
		if rel, err = s.relative(path.Join(f.Meta.Path, f.Meta.Name)); err != nil {
			break
		}
		files = append(files, prefixdir.File{Path: rel})
	}
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	parts, err := s.gatherFiles(ctx, files)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for r, b := range parts { // on rank 0
		var t *kvtree.Tree
		if t, err = kvtree.Unpack(b, nil); err == nil {
			files, err = prefixdir.ParseFiles(t, fmt.Sprintf("rank %d", r))
		}
		if err != nil {
			break
		}
		for _, f := range files {
			names[f.Path] = true
		}
	}
	return names, s.agree(ctx, err)
}

// announce enters the dataset in index and flush file before the first byte is written. there are files of it that are
// in the prefix directory already. Rank 0.
func (s *Session) announce(ctx context.Context, d *cachedSet, at prefixdir.Location, there map[string]bool) error {
	if s.c.Rank() != 0 {
		return nil
	}
	if err := s.replaced(ctx, d.Dataset, there); err != nil {
		return err
	}
	if err := s.prefix.CreateDataset(d.ID); err != nil {
		return err
	}
	if err := s.prefix.UpdateIndex(ctx, func(x *prefixdir.Index) error { return x.Add(d.Dataset, false) }); err != nil {
		return err
	}
	return s.flushFile(ctx, func(f *flushEdit) error { return f.moving(d.ID, at) })
}

// beginFlush announces a flush and finds what this rank has to copy; a collective. If it cannot begin after all, the flush
// file does not say any more that it does.
func (s *Session) beginFlush(ctx context.Context, d *cachedSet, at prefixdir.Location, there map[string]bool) (jobs []transfer.Job, err error) {
	defer func() {
		if err != nil && !fatal(ctx, err) { // rank 0 alone, after the last message
			err = errors.Join(err, s.flushFile(ctx, func(f *flushEdit) error { return f.moved(d.ID, false) }))
		}
	}()
	if err := s.agree(ctx, s.announce(ctx, d, at, there)); err != nil {
		return nil, err
	}
	if jobs, err = s.flushJobs(ctx, d); err != nil {
		return nil, err
	}
	if err := s.agree(ctx, s.clear(ctx, d, jobs, false)); err != nil {
		return nil, err
	}
	return jobs, s.sweepPrefix(ctx, jobs)
}

// replaced deletes an older dataset of the same name from the prefix directory, but for what the new one has there
// already. Rank 0.
func (s *Session) replaced(ctx context.Context, ds record.Dataset, there map[string]bool) error {
	x, _, _, err := s.prefix.LoadIndex()
	if err != nil {
		return err
	}
	if e, ok := x.Entry(ds.Name); ok && e.ID != ds.ID {
		s.log.Info("scr: a dataset of the prefix directory is replaced", "name", ds.Name, "old", e.ID, "new", ds.ID)
		return s.prefix.DeleteExcept(ctx, ds.Name, there)
	}
	return nil
}
