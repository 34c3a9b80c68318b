package scr

import (
	"context"
	"path"
	"path/filepath"

	"blobio/scr/prefixdir"
	"blobio/scr/transfer"
)

// routeRead finds a file of the checkpoint that is being read.
func (s *Session) routeRead(name string) (string, error) {
	if err := s.step("route"); err != nil {
		return "", err
	}
	r := s.restart
	abs, err := s.absolute(name)
	if err != nil {
		return "", err
	}
	if r.place != nil {
		return s.routeInPlace(r, abs)
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
	if found == "" && same == 1 {
		// The prefix directory may be elsewhere now: the base name decides, as in the reference.
		found = base
	}
	if found == "" {
		return "", pkg.Errorf("checkpoint %s has no file %s of rank %d: %w", r.Name, name, s.c.Rank(), ErrMissing)
	}
	if _, err := s.fileFS(r.set).Stat(found); err != nil {
		return "", pkg.Errorf("checkpoint %s: %w", r.Name, err)
	}
	return s.real(r.set, found), nil
}

// Files lists the files of the checkpoint that is being read, absolute, by the rank that wrote them: with InPlace of all
// ranks, otherwise of this one. It is not collective.
func (s *Session) Files() (map[int][]string, error) {
	if err := s.need("Files", Restoring); err != nil {
		return nil, err
	}
	out := map[int][]string{}
	if p := s.restart.place; p != nil {
		for r, files := range p.m.Files {
			for _, f := range files {
				if !f.NoFetch {
					out[r] = append(out[r], path.Join(p.at.Data, f.Path))
				}
			}
		}
		return out, nil
	}
	for _, f := range s.restart.set.maps.Files() {
		out[s.c.Rank()] = append(out[s.c.Rank()], path.Join(f.Meta.Path, f.Meta.Name))
	}
	return out, nil
}

// Owner tells which rank wrote a file of the checkpoint that is being read, for restarts on another number of ranks.
func (s *Session) Owner(name string) (rank int, ok bool, err error) {
	if err := s.need("Owner", Restoring); err != nil {
		return 0, false, err
	}
	abs, err := s.absolute(name)
	if err != nil {
		return 0, false, err
	}
	if p := s.restart.place; p != nil {
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

// inPlace is a checkpoint that is read in the prefix directory.
type inPlace struct {
	m  *prefixdir.Map
	at prefixdir.Place
}

// routeInPlace returns where a file is, or a copy of it if it lies compressed or in containers. Its bytes were checked
// when the checkpoint was offered.
func (s *Session) routeInPlace(r *restoring, abs string) (string, error) {
	p := r.place
	rel, err := s.relative(abs)
	if err != nil {
		return "", err
	}
	_, f, ok := p.m.Owner(rel)
	if !ok {
		return "", pkg.Errorf("checkpoint %s has no file %s: %w", r.Name, abs, ErrMissing)
	}
	if f.Zstd == 0 && f.Segments == nil {
		at := path.Join(p.at.Data, f.Path)
		if _, err := s.cfg.FS.Stat(at); err != nil {
			return "", pkg.Errorf("checkpoint %s: %w", r.Name, err)
		}
		return at, nil
	}
	at := path.Join(s.scratch(s.c.Rank()), rel)
	e, err := transfer.New(transfer.Options{FS: s.cfg.FS, DstFS: s.fs, Files: 1})
	if err != nil {
		return "", err
	}
	if _, err := e.Copy(context.Background(), fetchJob(p.at, f, at)); err != nil {
		return "", pkg.Errorf("checkpoint %s: %w", r.Name, err)
	}
	return s.bind.Real(at), nil
}

// fetchJob is the copy of a file of the prefix directory to a name.
func fetchJob(at prefixdir.Place, f prefixdir.File, to string) transfer.Job {
	j := transfer.Job{Src: path.Join(at.Data, filepath.FromSlash(f.StoredPath())), Dst: to, Size: -1, CRC: f.CRC, HasCRC: f.HasCRC, Expand: f.Zstd > 0}
	if f.HasSize {
		j.Size = f.Size
	}
	for _, seg := range f.Segments {
		j.In = append(j.In, transfer.Segment{File: path.Join(at.Data, seg.File), Offset: seg.Offset, Length: seg.Length})
	}
	return j
}
