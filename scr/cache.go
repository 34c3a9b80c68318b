package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"

	"blobio/comm"
	"blobio/internal/fault"
	"blobio/kvtree"
	"blobio/redset"
	"blobio/scr/cachedir"
	"blobio/scr/record"
	"blobio/scr/runlog"
)

// loadCache finds what the caches of the nodes hold, and makes it whole again: newest dataset first, its files are
// brought to the nodes where their ranks are now, and what was lost is rebuilt. What cannot be is deleted.
func (s *Session) loadCache(ctx context.Context) error {
	found, err := s.findCached(ctx)
	if err != nil {
		return err
	}
	for i := len(found) - 1; i >= 0; i-- {
		d := found[i]
		s.ids.set, s.ids.ckpt = max(s.ids.set, d.ID), max(s.ids.ckpt, d.Dataset.Ckpt)
		keep, err := s.revive(ctx, d)
		if err != nil {
			return err
		}
		if keep {
			s.cached = slices.Insert(s.cached, 0, d)
		}
	}
	return nil
}

// findCached merges the catalogues of all nodes: the datasets by number, the same on all ranks.
func (s *Session) findCached(ctx context.Context) ([]*cachedSet, error) {
	var mine []byte
	var own *cachedir.Catalog
	var err error
	if s.node.c.Rank() == 0 {
		if own, err = s.findCatalog(); err == nil {
			mine, err = own.Tree().Pack()
		}
	}
	if err := s.agree(ctx, err); err != nil {
		return nil, pkg.Errorf("catalogue: %w", err)
	}
	all, err := s.c.Allgather(ctx, mine)
	if err != nil {
		return nil, err
	}
	byID := map[int]*cachedSet{}
	listed := make([]*cachedir.Catalog, len(all)) // by the first rank of a node
	for r, b := range all {
		if len(b) == 0 {
			continue
		}
		t, err := kvtree.Unpack(b, nil)
		if err != nil {
			return nil, pkg.Errorf("catalogue: %w", err)
		}
		c, err := cachedir.ParseCatalog(t, s.cindex())
		if err != nil {
			return nil, pkg.Errorf("catalogue: %w", err)
		}
		listed[r] = c
		for _, e := range c.Entries() {
			if old := byID[e.ID]; old == nil || better(e.Dataset, old.Dataset) {
				byID[e.ID] = &cachedSet{Cached: e, level: s.levelOf(e)}
			}
		}
	}
	var out []*cachedSet
	for _, d := range byID {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, s.agree(ctx, s.dropStale(own, byID, listed))
}

// better orders records of datasets of the same number: complete ones first, then the latest. A number is used again
// if the run that used it first died before all nodes knew.
func better(a, b record.Dataset) bool {
	if a.Complete != b.Complete {
		return a.Complete
	}
	return a.Created.After(b.Created)
}

// sameDataset says whether two records are of one dataset.
func sameDataset(a, b record.Dataset) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Created.Equal(b.Created)
}

// dropStale deletes the folders of datasets on this node that are not the ones that the others mean by the number:
// those of a node that was away, and those that its catalogue does not know. Where nodes share a device, one of them that
// knows is enough. c is the catalogue of this node, listed are those of all, by their first ranks.
func (s *Session) dropStale(c *cachedir.Catalog, byID map[int]*cachedSet, listed []*cachedir.Catalog) error {
	if s.node.c.Rank() != 0 {
		return nil
	}
	changed := false
	for id, d := range byID {
		if d.level < 0 || s.levels[d.level].shared {
			continue
		}
		if e, ok := c.Entry(id); ok {
			if sameDataset(e.Dataset, d.Dataset) {
				continue
			}
			c.Remove(id)
			changed = true
		}
		if s.onDevice(d, listed) {
			continue
		}
		if err := cachedir.Delete(s.bind, d.Path); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	return c.Write(s.fs, s.cindex())
}

// onDevice says whether a node that shares the device of this rank knows a dataset.
func (s *Session) onDevice(d *cachedSet, listed []*cachedir.Catalog) bool {
	l := &s.levels[d.level]
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

func isFormat(err error) bool {
	var e *kvtree.FormatError
	return errors.As(err, &e)
}

// levelOf is the descriptor by which a cached dataset is handled: the one that would be chosen for it now, or another
// one of the store in which it lies; -1 if there is none.
func (s *Session) levelOf(e cachedir.Cached) int {
	f := Output
	if e.Dataset.Checkpoint {
		f = Checkpoint
	}
	dir := path.Dir(e.Path)
	if i, err := s.level(max(e.Dataset.Ckpt, 1), f); err == nil && s.levels[i].dir == dir {
		return i
	}
	for i := range s.levels {
		if s.levels[i].Enabled && s.levels[i].dir == dir {
			return i
		}
	}
	return -1
}

// revive makes one dataset whole, and says whether it stays in the caches; if it is usable it may be restarted from. Only
// an error of the communication or of the local disks is one of this function.
func (s *Session) revive(ctx context.Context, d *cachedSet) (bool, error) {
	if d.level < 0 {
		s.warn("scr: a cached dataset is in no store of this configuration; left alone", "dataset", d.Dataset.Name, "path", d.Path)
		return false, nil
	}
	if d.Path != path.Join(s.levels[d.level].dir, record.DefaultName(d.ID)) {
		s.warn("scr: a cached dataset has another folder than its number says; left alone", "dataset", d.Dataset.Name, "path", d.Path)
		return false, nil
	}
	if !d.Dataset.Complete || s.p.cachePurge || !s.p.distribute {
		return false, s.forget(ctx, d)
	}
	began := s.cfg.Clock()
	s.event(runlog.Entry{Event: runlog.RebuildStart, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name})
	err := s.rebuild(ctx, d)
	if err == nil {
		d.usable = true
		s.event(runlog.Entry{Event: runlog.RebuildSuccess, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name, Took: s.took(began)})
		return true, s.relist(ctx, d)
	}
	s.event(runlog.Entry{Event: runlog.RebuildFail, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name, Took: s.took(began)})
	if fatal(ctx, err) {
		return false, err
	}
	var other *ranksError
	ranks := int64(0)
	if errors.As(err, &other) {
		ranks = int64(other.ranks)
	}
	by, rerr := s.c.AllreduceInt64(ctx, []int64{ranks}, comm.Max)
	if rerr != nil {
		return false, rerr
	}
	if by[0] > 0 {
		ok, serr := s.salvage(ctx, d, int(by[0]))
		if serr != nil {
			return false, serr
		}
		if ok {
			return false, s.forget(ctx, d)
		}
		// It stays for a run of as many ranks as wrote it.
		s.warn("scr: left in the caches", "dataset", d.Dataset.Name, "id", d.ID, "err", err)
		return false, nil
	}
	s.warn("scr: cached dataset cannot be rebuilt", "dataset", d.Dataset.Name, "id", d.ID, "err", err)
	// It stays, without being offered: what could not be read now may be well again in the next run. It is deleted when
	// the run goes on from an older one, or when there is no room.
	return true, nil
}

// beyondRepair tells what will never get better from what may.
func beyondRepair(err error) bool {
	var lost *redset.LostError
	return errors.As(err, &lost) || errors.Is(err, redset.ErrNone) || errors.Is(err, ErrMissing) || errors.Is(err, ErrCorrupt) ||
		errors.Is(err, ErrChecksum) || errors.Is(err, redset.ErrTruncated)
}

// forget deletes a dataset that is not in s.cached.
func (s *Session) forget(ctx context.Context, d *cachedSet) error {
	s.cached = append(s.cached, d)
	return s.drop(ctx, d)
}

// relist enters a dataset that was rebuilt in the catalogue of this node and in the flush file.
func (s *Session) relist(ctx context.Context, d *cachedSet) error {
	err := s.list(func(c *cachedir.Catalog) { c.Put(d.Cached) })
	if err == nil {
		err = s.flushFile(ctx, func(f *flushEdit) error { return f.found(d.Dataset) })
	}
	return s.agree(ctx, err)
}

// ranksError: the dataset was written by another number of ranks.
type ranksError struct{ ranks, now int }

func (e *ranksError) Error() string {
	return fmt.Sprintf("scr: dataset of %d ranks, here are %d", e.ranks, e.now)
}
func (e *ranksError) Package() string { return string(pkg) }
func (e *ranksError) Unwrap() error   { return ErrMissing }

// rebuild distributes the files of a dataset and rebuilds what is lost.
func (s *Session) rebuild(ctx context.Context, d *cachedSet) error {
	l := &s.levels[d.level]
	err := s.list(func(c *cachedir.Catalog) { c.Put(d.Cached) })
	if err == nil {
		err = s.makeDir(l, d.Path)
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	if d.Packed {
		if err := s.unpack(ctx, d); err != nil {
			return err
		}
	}
	if err := s.distribute(ctx, d); err != nil {
		return err
	}
	if err := s.step("rebuild"); err != nil {
		return err
	}
	mapName := cachedir.FilemapName(d.Path, s.c.Rank())
	if d.Packed {
		err = s.lostMaps(ctx, d)
	} else if _, rerr := redset.Recover(ctx, s.c, s.fs, groupPrefix(d.Path, cachedir.MapGroup), &redset.RecoverOptions{Sure: true, Lost: s.damagedMap}); rerr != nil {
		err = pkg.Errorf("file maps: %w", rerr)
	}
	if err != nil {
		return err
	}
	d.maps, err = cachedir.ReadFilemap(s.fs, mapName)
	if err == nil {
		for _, f := range d.maps.Files() {
			if f.Meta.Ranks != 0 && f.Meta.Ranks != s.c.Size() {
				err = &ranksError{f.Meta.Ranks, s.c.Size()}
			}
		}
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	if !d.Bypass {
		if err := s.distinct(ctx, d); err != nil {
			return err
		}
		rep, err := redset.Recover(ctx, s.c, s.fs, groupPrefix(d.Path, cachedir.DataGroup), nil)
		if err != nil {
			return pkg.Errorf("files: %w", err)
		}
		if n := len(rep.Rebuilt); n > 0 {
			s.log.Info("scr: rebuilt", "dataset", d.Dataset.Name, "rank", s.c.Rank(), "files", n, "corrupt", len(rep.Corrupt))
		}
		if !rep.Verified {
			// Made by the reference: existence and sizes are all that is known, unless a checksum stands in the map.
			err = s.checkFiles(d, true)
		} else {
			err = s.checkFiles(d, false)
		}
		if err := s.agree(ctx, err); err != nil {
			return err
		}
	} else if err := s.agree(ctx, s.checkFiles(d, true)); err != nil {
		return err
	}
	var names []string
	for _, f := range d.maps.Files() {
		names = append(names, f.Name)
	}
	if !d.Bypass {
		if err := s.sealGroup(ctx, l, d.Cached, cachedir.DataGroup, names); err != nil {
			return err
		}
	}
	if d.Packed {
		err = s.pack(ctx, d, d.Cached)
	} else {
		err = s.sealGroup(ctx, l, d.Cached, cachedir.MapGroup, []string{mapName})
	}
	if err != nil {
		return err
	}
	return s.agree(ctx, s.sweep(d, l))
}

// damagedMap says that a file map is there, and is not what was written: it has a checksum of its own.
func (s *Session) damagedMap(name string) bool {
	_, err := cachedir.ReadFilemap(s.fs, name)
	var f *fault.FormatError
	return errors.As(err, &f)
}

// checkFiles compares the files of this rank with its file map; with sums their bytes too, where the map knows them.
func (s *Session) checkFiles(d *cachedSet, sums bool) error {
	fsys := s.fileFS(d)
	for _, f := range d.maps.Files() {
		st, err := fsys.Stat(f.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return pkg.Errorf("%s: %w", f.Name, ErrMissing)
		case err != nil:
			return err
		case st.Size() != f.Meta.Size:
			return pkg.Errorf("%s: %w: %d bytes, the file map says %d", f.Name, ErrCorrupt, st.Size(), f.Meta.Size)
		case !f.Meta.Complete:
			return pkg.Errorf("%s: %w: not complete", f.Name, ErrMissing)
		}
		if !sums || !f.Meta.HasCRC {
			continue
		}
		crc, _, err := sumFile(fsys, f.Name)
		if err != nil {
			return err
		}
		if crc != f.Meta.CRC {
			return pkg.Errorf("%s: %w: CRC-32 %#x, the file map says %#x", f.Name, ErrChecksum, crc, f.Meta.CRC)
		}
	}
	return nil
}
