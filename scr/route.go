package scr

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
)

// Route returns the path under which to write or read a file. It is not collective.
//
// Between Start and Complete it adds the file to the dataset and returns the path to which this rank must write: in the cache, or
// with bypass in the prefix directory. The file must lie below the prefix directory (ErrOutside). A relative name starts in
// Config.Dir. Files in different folders may have equal base names.
//
// With bypass (SCR_CACHE_BYPASS, on by default as in SCR 3) the program writes directly to the prefix directory, under a hidden name
// in the same folder. Complete gives all files their final names. Until then, existing files with these names are kept. Complete
// marks older checkpoints that have files with the same names as incomplete, and logs a warning. If such a file belongs to output,
// Route returns ErrExist. If the new dataset is output, Route makes this check without bypass too, because output is always flushed.
//
// Between StartRestart and CompleteRestart Route returns the path from which to read a file of this rank, or, with Restart.InPlace,
// a file of any rank. Without InPlace, Route also finds files of other ranks if they are in the caches of the same node or in the
// prefix directory.
//
// Before the first Start or StartRestart, Route returns the path of a file of the newest cached checkpoint, or of the checkpoint
// that HaveRestart offered. Programs that follow the rules of SCR 1 need this. In all other cases Route returns the name unchanged.
func (s *Session) Route(name string) (string, error) {
	switch {
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

// unasked returns the checkpoint for a program that reads without calling HaveRestart or StartRestart. Without a checkpoint it is
// empty.
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

// route adds a file to the dataset being written.
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
		if dir := path.Dir(abs); dir != w.dir {
			if err := durable.MkdirAll(wr.cfg.FS, dir, true); err != nil {
				return "", err
			}
			w.dir = dir
		}
		there, err := wr.checkPlace(w, abs)
		if err != nil {
			return "", err
		}
		w.over = w.over || there
		at = prefixdir.Hidden(abs)
	} else if err := wr.foresee(w, abs); err != nil {
		return "", err
	} else if at, err = wr.cacheName(w, abs); err != nil {
		return "", err
	}
	w.maps.Put(cachedir.MapFile{Name: at, Meta: record.Meta{Orig: name, Path: path.Dir(abs), Name: path.Base(abs), Ranks: wr.c.Size()}})
	// If the run dies, its files are left. The next run removes cached files with their folder. It removes hidden files according to
	// the map. A power loss before Complete syncs the map may lose the map, and then hidden files are left.
	if w.Bypass {
		if err := wr.noteMap(w); err != nil {
			w.maps.Remove(at)
			return "", fmt.Errorf("file map: %w", err)
		}
	}
	w.byOrig[abs] = at
	return wr.real(w.cachedSet, at), nil
}

// route finds a file of the checkpoint that is being read. If moved is set, it also accepts a unique base name, because the prefix
// directory may have been moved. SCR does the same.
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
	found := r.set.pathOf(abs, moved)
	if found == "" {
		return fe.routeToOthers(r, name, abs)
	}
	if _, err := fe.fileFS(r.set).Stat(found); err != nil {
		return "", fmt.Errorf("checkpoint %s: %w", r.Name, err)
	}
	return fe.real(r.set, found), nil
}

// pathOf returns the name in the cache of this rank's file abs, or "".
func (d *cachedSet) pathOf(abs string, moved bool) string {
	if d.paths == nil {
		d.paths = map[string]string{}
		for _, f := range d.maps.Files() {
			d.paths[path.Join(f.Meta.Path, f.Meta.Name)] = f.Name
		}
	}
	if at, ok := d.paths[abs]; ok || !moved {
		return at
	}
	var base string
	same := 0
	for at, name := range d.paths {
		if path.Base(at) == path.Base(abs) {
			same++
			base = name
		}
	}
	if same != 1 {
		return ""
	}
	return base
}

// routeToOthers finds a file of another rank. The file must be on this node or in a place that all nodes see.
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
			return "", fmt.Errorf("checkpoint %s has no file %s of rank %d; files of ranks on other nodes can be read after a flush, or with SCR_CACHE_BYPASS=1: %w",
				r.Name, name, fe.c.Rank(), ErrMissing)
		}
	}
	if _, err := fe.cfg.FS.Stat(abs); err != nil {
		return "", fmt.Errorf("checkpoint %s has no file %s: %w (%w)", r.Name, name, ErrMissing, err)
	}
	return abs, nil
}

// onNode looks for a file of another rank on this node. The file's name in the cache has the same base name.
func (fe *fetcher) onNode(d *cachedSet, abs string) (string, error) {
	list, err := cachedir.ReadShuffile(fe.fs, d.Path, cachedir.DataGroup)
	if err != nil {
		return "", err
	}
	for rank, names := range list {
		if !slices.ContainsFunc(names, func(name string) bool { return path.Base(name) == path.Base(abs) }) {
			continue
		}
		m, err := cachedir.ReadFilemap(fe.fs, cachedir.FilemapName(d.Path, rank))
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

// Files returns the absolute paths of the files of the checkpoint that is being read, by the rank that wrote them. With InPlace it
// returns the files of all ranks, otherwise only the files of this rank. It is not collective.
func (s *Session) Files() (map[int][]string, error) {
	if err := s.need("Files", inRestart); err != nil {
		return nil, err
	}
	return s.restart.files(s.c.Rank()), nil
}

// files returns the files of an offer that this rank may read, by the rank that wrote them.
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

// Owner returns the rank that wrote a file of the checkpoint that is being read. It is for restarts with a different number of
// ranks.
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

// checkPlace reports whether a file exists in the prefix directory. It returns an error if the file must not be overwritten; see
// prefixdir.Claims.
func (wr *writer) checkPlace(w *writing, abs string) (there bool, err error) {
	st, err := vfs.Lstat(wr.cfg.FS, abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return true, nil // writing the file will return the error
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

// foresee returns an error if a cached file of output could not be flushed. It is called early, because an error in Complete would
// be too late for the application.
func (wr *writer) foresee(w *writing, abs string) error {
	if !w.ds.Output || wr.p.containers {
		return nil
	}
	_, err := wr.checkPlace(w, abs)
	return err
}
