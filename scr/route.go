package scr

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
)

// Route returns where a file is to be written, or read. It is not collective.
//
// Between Start and Complete it enters the file in the dataset, and returns the name by which this rank must write it:
// in the cache, or with bypass in the prefix directory. The file must lie below the prefix directory (ErrOutside); a
// relative name starts in Config.Dir. Equal base names in different folders are kept apart.
//
// With bypass (SCR_CACHE_BYPASS, which is on by default as in SCR 3) the program writes to the prefix directory itself, under a
// hidden name in the same folder: Complete gives all files their names, and what was there stays until then. A checkpoint that is
// listed as complete and has files of the same names is not complete any more then, with a warning. If the file belongs to output, Route
// fails with ErrExist. So it does for the files of output that is not written with bypass: it is flushed in any case.
//
// Between StartRestart and CompleteRestart it returns the name by which the file can be read: of this rank, or with
// Restart.InPlace of any. A file that another rank has written is found in the caches of the same node and in the prefix directory.
//
// Before the first Start or StartRestart the name of a file of the newest cached checkpoint, or of the one that HaveRestart offered, is
// routed to it, for programs that read by the rules of SCR 1. In all other cases the name is returned unchanged.
func (s *Session) Route(name string) (string, error) {
	switch {
	case s.off:
		return "", fmt.Errorf("Route: %w", ErrDisabled)
	case s.state == inDataset:
		return s.writer.route(s.cur, name)
	case s.state == inRestart:
		return s.fetch.route(s.restart, name, true)
	case s.state == between && !s.begun:
		if at, err := s.fetch.route(s.unasked(), name, false); err == nil {
			return at, nil
		}
	}
	return name, nil
}

// unasked is the checkpoint that a program reads which has not asked for one, or has not said that it begins to read it; it may have none.
func (s *Session) unasked() *offer {
	if s.offer != nil {
		return s.offer
	}
	d := s.cache.newest()
	if d == nil {
		return &offer{}
	}
	return &offer{Restart: Restart{ID: d.ID, Name: d.Dataset.Name}, set: d}
}

// route enters a file in the dataset that is being written.
func (wr *writer) route(w *writing, name string) (string, error) {
	if err := wr.step("route"); err != nil {
		return "", err
	}
	abs, err := wr.absolute(name)
	if err != nil {
		return "", err
	}
	if at, ok := w.byOrig[abs]; ok {
		return wr.real(w.cachedSet, at), nil
	}
	at := abs
	if w.Bypass {
		if prefixdir.IsHidden(abs) {
			return "", fault.Usage("%s has a name reserved for files of incomplete datasets", name)
		}
		if err := durable.MkdirAll(wr.cfg.FS, path.Dir(abs), true); err != nil {
			return "", err
		}
		if _, err := wr.checkPlace(w, abs); err != nil {
			return "", err
		}
		at = prefixdir.Hidden(abs)
	} else if err := wr.foresee(w, abs); err != nil {
		return "", err
	} else if at, err = wr.cacheName(w, abs); err != nil {
		return "", err
	}
	w.maps.Put(cachedir.MapFile{Name: at, Meta: record.Meta{Orig: name, Path: path.Dir(abs), Name: path.Base(abs), Ranks: wr.c.Size()}})
	// Written before the file is: a file in the map may exist, and a file that is not in it does not. With bypass a run that follows needs the map
	// only to remove hidden files, so that it is synced with the rest by Complete; after a power cut they may stay.
	maps := vfs.FS(wr.fs)
	if w.Bypass {
		maps = vfs.NoSync(maps)
	}
	if err := w.maps.Write(maps, cachedir.FilemapName(w.Path, wr.c.Rank())); err != nil {
		w.maps.Remove(at)
		return "", fmt.Errorf("file map: %w", err)
	}
	w.byOrig[abs] = at
	return wr.real(w.cachedSet, at), nil
}

// route finds a file of the checkpoint that is being read; with moved also by its base name alone, if that is of one file, since the
// prefix directory may be elsewhere now. The original does so.
func (fe *fetcher) route(r *offer, name string, moved bool) (string, error) {
	if err := fe.step("route"); err != nil {
		return "", err
	}
	abs, err := fe.absolute(name)
	if err != nil {
		return "", err
	}
	if r.inPlace != nil {
		return fe.routeInPlace(r, abs)
	}
	if r.set == nil {
		return "", ErrNoRestart
	}
	var found, base string
	same := 0
	for _, f := range r.set.maps.Files() {
		if path.Join(f.Meta.Path, f.Meta.Name) == abs {
			found = f.Name
			break
		}
		if f.Meta.Name == path.Base(abs) {
			same++
			base = f.Name
		}
	}
	if found == "" && same == 1 && moved {
		found = base
	}
	if found == "" {
		return fe.routeToOthers(r, name, abs)
	}
	if _, err := fe.fileFS(r.set).Stat(found); err != nil {
		return "", fmt.Errorf("checkpoint %s: %w", r.Name, err)
	}
	return fe.real(r.set, found), nil
}

// routeToOthers finds a file that another rank has written, where this node has it, or every node.
func (fe *fetcher) routeToOthers(r *offer, name, abs string) (string, error) {
	if !r.set.Bypass {
		at, err := fe.onNode(r.set, abs)
		if err != nil || at != "" {
			return at, err
		}
		x, _, _, err := fe.index.dir.Index.Load()
		if err != nil {
			return "", err
		}
		if e, ok := x.Entry(r.Name); !ok || e.ID != r.ID || !e.Complete {
			return "", fmt.Errorf("checkpoint %s has no file %s of rank %d; another rank's on another node can be read after a flush, or with SCR_CACHE_BYPASS=1: %w",
				r.Name, name, fe.c.Rank(), ErrMissing)
		}
	}
	if _, err := fe.cfg.FS.Stat(abs); err != nil {
		return "", fmt.Errorf("checkpoint %s has no file %s: %w (%w)", r.Name, name, ErrMissing, err)
	}
	return abs, nil
}

// onNode looks for a file in the maps of the other ranks of this node.
func (fe *fetcher) onNode(d *cachedSet, abs string) (string, error) {
	list, err := fe.fs.ReadDir(cachedir.MetaDir(d.Path))
	if err != nil {
		return "", err
	}
	for _, entry := range list {
		rank, ok := cachedir.RankOf(entry.Name())
		name := cachedir.FilemapName(d.Path, rank)
		if !ok || path.Base(name) != entry.Name() {
			continue
		}
		m, err := cachedir.ReadFilemap(fe.fs, name)
		if err != nil {
			return "", err
		}
		for _, f := range m.Files() {
			if path.Join(f.Meta.Path, f.Meta.Name) == abs {
				return fe.real(d, f.Name), nil
			}
		}
	}
	return "", nil
}

// Files lists the files of the checkpoint that is being read, absolute, by the rank that wrote them: with InPlace of all
// ranks, otherwise of this one. It is not collective.
func (s *Session) Files() (map[int][]string, error) {
	if err := s.need("Files", inRestart); err != nil {
		return nil, err
	}
	return s.restart.files(s.c.Rank()), nil
}

// files lists the files of an offer by the rank that wrote them, as far as rank may read them.
func (o *offer) files(rank int) map[int][]string {
	out := map[int][]string{}
	if p := o.inPlace; p != nil {
		for r, files := range p.m.Files {
			for _, f := range files {
				if !f.NoFetch {
					out[r] = append(out[r], path.Join(p.dir.Data, f.Path))
				}
			}
		}
		return out
	}
	for _, f := range o.set.maps.Files() {
		out[rank] = append(out[rank], path.Join(f.Meta.Path, f.Meta.Name))
	}
	return out
}

// Owner returns the rank that wrote a file of the checkpoint that is being read, for restarts on another number of ranks.
func (s *Session) Owner(name string) (rank int, ok bool, err error) {
	if err := s.need("Owner", inRestart); err != nil {
		return 0, false, err
	}
	abs, err := s.absolute(name)
	if err != nil {
		return 0, false, err
	}
	if p := s.restart.inPlace; p != nil {
		rel, err := s.relative(abs)
		if err != nil {
			return 0, false, err
		}
		rank, _, ok := p.m.Owner(rel)
		return rank, ok, nil
	}
	for _, f := range s.restart.set.maps.Files() {
		if path.Join(f.Meta.Path, f.Meta.Name) == abs {
			return s.c.Rank(), true, nil
		}
	}
	return 0, false, nil
}

// checkPlace reports whether a file of the prefix directory is there. It is an error if it must not be written; see prefixdir.Claims.
func (wr *writer) checkPlace(w *writing, abs string) (there bool, err error) {
	st, err := vfs.Lstat(wr.cfg.FS, abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return true, nil // the write returns the error
	case st.IsDir():
		return true, fmt.Errorf("%s: %w: is a folder, want a file", abs, ErrExist)
	}
	rel, err := wr.relative(abs)
	if err != nil {
		return true, err
	}
	if w.claims == nil {
		if w.claims, err = wr.index.dir.Claims(w.ds); err != nil {
			return true, err
		}
	}
	return true, w.claims.Check(rel)
}

// foresee is an error if a file of output that goes to the cache could not be flushed: Complete would be too late to learn it.
func (wr *writer) foresee(w *writing, abs string) error {
	if !w.ds.Output || wr.p.containers {
		return nil
	}
	_, err := wr.checkPlace(w, abs)
	return err
}
