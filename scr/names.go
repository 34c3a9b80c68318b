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

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/spath"
)

// absolute returns the absolute, clean form of an application's file name, which must be below the prefix directory.
func (j *job) absolute(name string) (string, error) {
	if name == "" || len(name) > 4095 {
		return "", fault.Usage("file name has %d bytes, want 1 to 4095", len(name))
	}
	abs := filepath.ToSlash(name)
	if !path.IsAbs(abs) && !filepath.IsAbs(name) {
		abs = path.Join(filepath.ToSlash(j.cfg.Dir), abs)
	}
	abs = path.Clean(abs)
	in := spath.IsChild(j.p.prefix, abs)
	if !in && j.cfg.FS == vfs.OS {
		// The path may contain symbolic links.
		ok, err := spath.Inside(j.p.prefix, abs)
		if err != nil {
			return "", err
		}
		if ok {
			return "", fmt.Errorf("%s: %w %s, because the name leads through links", name, ErrOutside, j.p.prefix)
		}
	}
	if in && spath.IsChild(filepath.Join(j.p.prefix, prefixdir.MetaDir), abs) {
		in = false
	}
	if !in {
		return "", fmt.Errorf("%s: %w %s", name, ErrOutside, j.p.prefix)
	}
	return abs, nil
}

// relative returns the name of a file as in the map.
func (j *job) relative(name string) (string, error) {
	if !spath.IsChild(j.p.prefix, name) {
		return "", fmt.Errorf("%s: %w %s", name, ErrOutside, j.p.prefix)
	}
	return spath.Relative(j.p.prefix, name)
}

// cacheName finds a free name for a file in the dataset's folder. It is the base name, as in the reference, unless another file
// has it; then it is a name in a folder of this rank. Ranks that share the folder detect conflicts through files created
// exclusively.
func (wr *writer) cacheName(w *writing, abs string) (string, error) {
	l := w.level
	base := path.Base(abs)
	if len(base) > maxBase {
		return "", fmt.Errorf("cache: %w: the name of the file has %d bytes, want at most %d; it begins with %.80q", fault.ErrUsage, len(base), maxBase, base)
	}
	at := path.Join(w.Path, base)
	_, taken := w.maps.File(at)
	free := base != prefixdir.MetaDir && !taken && !rankFolder.MatchString(base)
	if free && l.dc.Size() > 1 {
		keep := path.Join(cachedir.MetaDir(w.Path), "name."+base)
		f, err := wr.fs.Create(keep)
		switch {
		case err == nil:
			w.reserve = append(w.reserve, keep)
			if err := f.Close(); err != nil {
				return "", err
			}
		case errors.Is(err, fs.ErrExist):
			free = false
		default:
			return "", fmt.Errorf("cache: %w", err)
		}
	}
	if free {
		return at, nil
	}
	if at = wr.ownName(w, base); at == "" {
		return "", fmt.Errorf("cache: %w: too many files %s", fault.ErrUsage, base)
	}
	if err := durable.MkdirAll(wr.fs, path.Dir(at), true); err != nil {
		return "", fmt.Errorf("cache: %w", err)
	}
	return at, nil
}

// maxBase is the maximum length of a base name in the cache, in bytes. File systems allow 255, but files have longer names until
// they are whole when they are moved, rebuilt or saved.
const maxBase = 220

// rankFolder matches the folders of ownName.
var rankFolder = regexp.MustCompile(`^rank\.\d+\.\d+$`)

// ownName returns a free name for a file in a folder that no other rank uses.
func (wr *writer) ownName(w *writing, base string) string {
	for n := range 1 << 20 {
		at := path.Join(w.Path, fmt.Sprintf("rank.%d.%d", wr.c.Rank(), n), base)
		if _, taken := w.maps.File(at); !taken {
			return at
		}
	}
	return ""
}

// separateNames renames files that have the same name as another rank's file, on any node, because ranks may share a folder
// after a restart. moved reports that the files are already in the cache.
func (wr *writer) separateNames(ctx context.Context, w *writing, moved bool) error {
	if wr.knobs.together {
		return nil
	}
	var mine []byte
	for _, f := range w.maps.Files() {
		if path.Dir(f.Name) == w.Path {
			mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(path.Base(f.Name)))
		}
	}
	all, err := wr.c.Allgather(ctx, mine)
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
		if err = wr.rename(w, f, moved); err != nil {
			break
		}
	}
	for _, n := range count {
		if n > 1 { // same on all ranks
			return wr.agree(ctx, err)
		}
	}
	return nil
}

// rename gives a cached file a name unique to this rank. Meanwhile both names are in the map on disk.
func (wr *writer) rename(w *writing, f cachedir.MapFile, moved bool) error {
	old := f.Name
	if f.Name = wr.ownName(w, path.Base(old)); f.Name == "" {
		return fmt.Errorf("cache: %w: too many files %s", fault.ErrUsage, path.Base(old))
	}
	if err := durable.MkdirAll(wr.fs, path.Dir(f.Name), true); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	w.maps.Put(f)
	if moved {
		if err := w.maps.Write(wr.fs, cachedir.FilemapName(w.Path, wr.c.Rank())); err != nil {
			return fmt.Errorf("file map: %w", err)
		}
		if err := durable.Rename(wr.fs, old, f.Name); err != nil { // otherwise the map on disk would lose the old name first
			return fmt.Errorf("cache: %w", err)
		}
	}
	w.maps.Remove(old)
	return nil
}
