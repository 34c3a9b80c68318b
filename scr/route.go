package scr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"

	"github.com/zeebo/xxh3"

	"blobio/internal/durable"
	"blobio/internal/vfs"
	"blobio/scr/cachedir"
	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/spath"
)

// Route tells where a file is to be written, or read. It is not collective.
//
// Between Start and Complete it enters the file in the dataset, and returns the name by which this rank must write it:
// in the cache, or with bypass in the prefix directory. The file must lie below the prefix directory (ErrOutside); a
// relative name starts in Config.Dir. Equal base names in different folders are kept apart.
//
// With bypass the program writes to the prefix directory itself. If the file is there and belongs to a dataset that is listed
// as complete, that one is marked as not complete before Route returns, with a warning; if it is output, Route fails with
// ErrExist. So it does for the files of output that is not written with bypass: it is flushed in any case.
//
// Between StartRestart and CompleteRestart it returns the name by which the file can be read; see RouteOwned for files
// of other ranks. In other states the name is returned unchanged.
func (s *Session) Route(name string) (string, error) {
	switch {
	case s.off:
		return "", pkg.Errorf("Route: %w", ErrDisabled)
	case s.state == Writing:
		return s.routeWrite(name)
	case s.state == Restoring:
		return s.routeRead(name)
	}
	return name, nil
}

// absolute is the absolute, clean form of a name of the application, below the prefix directory.
func (s *Session) absolute(name string) (string, error) {
	if name == "" || len(name) > 4095 {
		return "", pkg.Errorf("%w: file name of %d bytes", ErrUsage, len(name))
	}
	abs := filepath.ToSlash(name)
	if !path.IsAbs(abs) && !filepath.IsAbs(name) {
		abs = path.Join(filepath.ToSlash(s.cfg.Dir), abs)
	}
	abs = path.Clean(abs)
	in := spath.IsChild(s.p.prefix, abs)
	if !in && s.cfg.FS == vfs.OS {
		// The way there may lead through links.
		ok, err := spath.Inside(s.p.prefix, abs)
		if err != nil {
			return "", pkg.Errorf("%w", err)
		}
		if ok {
			return "", pkg.Errorf("%s: %w %s by that name: links lead there", name, ErrOutside, s.p.prefix)
		}
	}
	if in && spath.IsChild(s.prefix.File(""), abs) {
		in = false
	}
	if !in {
		return "", pkg.Errorf("%s: %w %s", name, ErrOutside, s.p.prefix)
	}
	return abs, nil
}

func (s *Session) routeWrite(name string) (string, error) {
	if err := s.step("route"); err != nil {
		return "", err
	}
	abs, err := s.absolute(name)
	if err != nil {
		return "", err
	}
	w := s.cur
	if at, ok := w.byOrig[abs]; ok {
		return s.real(w.cachedSet, at), nil
	}
	at := abs
	if w.Bypass {
		if err := durable.MkdirAll(s.cfg.FS, path.Dir(abs), true); err != nil {
			return "", pkg.Errorf("%w", err)
		}
		if _, err := vfs.Lstat(s.cfg.FS, abs); err == nil {
			w.older[abs] = true
			if err := s.claim(w, abs, true); err != nil {
				return "", err
			}
		}
	} else if err := s.foresee(w, abs); err != nil {
		return "", err
	} else if at, err = s.cacheName(w, abs); err != nil {
		return "", err
	}
	w.maps.Put(cachedir.MapFile{Name: at, Meta: record.Meta{Orig: name, Path: path.Dir(abs), Name: path.Base(abs), Ranks: s.c.Size()}})
	// On disk before the file is: what is in the map may exist, and what is not in it does not.
	if err := w.maps.Write(s.fs, cachedir.FilemapName(w.Path, s.c.Rank())); err != nil {
		w.maps.Remove(at)
		return "", pkg.Errorf("file map: %w", err)
	}
	w.byOrig[abs] = at
	return s.real(w.cachedSet, at), nil
}

// real is the name in Config.FS of a file of a dataset.
func (s *Session) real(d *cachedSet, name string) string {
	if d.Bypass {
		return name
	}
	return s.bind.Real(name)
}

// cacheName finds a free name for a file in the folder of the dataset: its base name, as the reference, unless another
// file has that already; then in a folder of this rank. Ranks that share the folder find out by files whose names can
// be made only once.
func (s *Session) cacheName(w *writing, abs string) (string, error) {
	l := &s.levels[w.level]
	base := path.Base(abs)
	if len(base) > maxBase {
		return "", pkg.Errorf("cache: %w: the name of the file has %d bytes, want at most %d; it begins with %.80q", ErrUsage, len(base), maxBase, base)
	}
	at := path.Join(w.Path, base)
	_, taken := w.maps.File(at)
	free := base != prefixdir.MetaDir && !taken && !rankFolder.MatchString(base)
	if free && l.dc.Size() > 1 {
		keep := path.Join(cachedir.MetaDir(w.Path), "name."+base)
		f, err := s.fs.Create(keep)
		switch {
		case err == nil:
			w.reserve = append(w.reserve, keep)
			if err := f.Close(); err != nil {
				return "", err
			}
		case errors.Is(err, fs.ErrExist):
			free = false
		default:
			return "", pkg.Errorf("cache: %w", err)
		}
	}
	if free {
		return at, nil
	}
	if at = s.ownName(w, base); at == "" {
		return "", pkg.Errorf("cache: %w: too many files %s", ErrUsage, base)
	}
	if err := durable.MkdirAll(s.fs, path.Dir(at), true); err != nil {
		return "", pkg.Errorf("cache: %w", err)
	}
	return at, nil
}

// maxBase is the longest base name of a file in the cache, in bytes. File systems know 255; files that are moved, rebuilt or
// saved have longer names until they are whole.
const maxBase = 220

// rankFolder matches the folders of ownName.
var rankFolder = regexp.MustCompile(`^rank\.\d+\.\d+$`)

// ownName is a free name for a file in a folder that no other rank uses.
func (s *Session) ownName(w *writing, base string) string {
	for n := range 1 << 20 {
		at := path.Join(w.Path, fmt.Sprintf("rank.%d.%d", s.c.Rank(), n), base)
		if _, taken := w.maps.File(at); !taken {
			return at
		}
	}
	return ""
}

// apart gives files that have the name of a file of another rank, on whichever node, names of their own: ranks that are
// brought together by a restart share a folder. moved says that the files are there already.
func (s *Session) apart(ctx context.Context, w *writing, moved bool) error {
	if s.cfg.together {
		return nil
	}
	var mine []byte
	for _, f := range w.maps.Files() {
		if path.Dir(f.Name) == w.Path {
			mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(path.Base(f.Name)))
		}
	}
	all, err := s.c.Allgather(ctx, mine)
	if err != nil {
		return err
	}
	count := map[uint64]int{}
	for _, b := range all {
		for ; len(b) >= 8; b = b[8:] {
			count[binary.BigEndian.Uint64(b)]++
		}
	}
	for _, f := range w.maps.Files() {
		if path.Dir(f.Name) != w.Path || count[xxh3.HashString(path.Base(f.Name))] < 2 {
			continue
		}
		if err = s.rename(w, f, moved); err != nil {
			break
		}
	}
	return s.agree(ctx, err)
}

// rename gives a file of the cache a name of this rank's own. Both names are in the map on disk meanwhile.
func (s *Session) rename(w *writing, f cachedir.MapFile, moved bool) error {
	old := f.Name
	if f.Name = s.ownName(w, path.Base(old)); f.Name == "" {
		return pkg.Errorf("cache: %w: too many files %s", ErrUsage, path.Base(old))
	}
	if err := durable.MkdirAll(s.fs, path.Dir(f.Name), true); err != nil {
		return pkg.Errorf("cache: %w", err)
	}
	w.maps.Put(f)
	if moved {
		if err := w.maps.Write(s.fs, cachedir.FilemapName(w.Path, s.c.Rank())); err != nil {
			return pkg.Errorf("file map: %w", err)
		}
		if err := s.fs.Rename(old, f.Name); err != nil {
			return pkg.Errorf("cache: %w", err)
		}
	}
	w.maps.Remove(old)
	return nil
}

// fileFS is where the files of a dataset are.
func (s *Session) fileFS(d *cachedSet) vfs.FS {
	if d.Bypass {
		return s.cfg.FS
	}
	return s.fs
}
