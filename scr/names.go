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

// absolute returns the absolute, clean form of a file name of the application. The file must be below the prefix directory.
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
			return "", fmt.Errorf("%s: %w %s, because the path contains symbolic links", name, ErrOutside, j.p.prefix)
		}
	}
	if in && spath.IsChild(filepath.Join(j.p.prefix, prefixdir.MetaDir), abs) {
		in = false
	}
	if !in {
		return "", fmt.Errorf("%s: %w %s", abs, ErrOutside, j.p.prefix)
	}
	return abs, nil
}

// relative returns the name of a file in the form that the map uses.
func (j *job) relative(name string) (string, error) {
	if !spath.IsChild(j.p.prefix, name) {
		return "", fmt.Errorf("%s: %w %s", name, ErrOutside, j.p.prefix)
	}
	return spath.Relative(j.p.prefix, name)
}

// cacheName finds a free name for a file in the dataset's folder. As in the original SCR it is the base name, unless another
// file has this name. Then it is a name in a folder that belongs to this rank. Ranks that share the dataset's folder detect
// conflicts by creating files exclusively.
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

// maxBase is the maximum length of a base name in the cache, in bytes. File systems allow 255 bytes, but while a file is moved,
// rebuilt or saved, it has a longer temporary name.
const maxBase = 220

// rankFolder matches the names of the folders that ownName uses.
var rankFolder = regexp.MustCompile(`^rank\.\d+\.\d+$`)

// ownName returns a free name for a file. The name is in a folder that no other rank uses.
func (wr *writer) ownName(w *writing, base string) string {
	for n := range 1 << 20 {
		at := path.Join(w.Path, fmt.Sprintf("rank.%d.%d", wr.c.Rank(), n), base)
		if _, taken := w.maps.File(at); !taken {
			return at
		}
	}
	return ""
}

// separateNames renames files that have the same name as a file of another rank, even on another node, because the ranks may
// share a folder after a restart. moved is set if the files are already in the cache.
func (wr *writer) separateNames(ctx context.Context, w *writing, moved bool) error {
	if wr.knobs.together {
		w.shared = true
		return nil
	}
	const none, entry = 0, 16 // an entry is the hash of the name in the cache, or none, and of the application's name
	var mine []byte
	for _, f := range w.maps.Files() {
		at := uint64(none)
		if path.Dir(f.Name) == w.Path {
			at = xxh3.HashString(path.Base(f.Name))
		}
		mine = binary.BigEndian.AppendUint64(mine, at)
		mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(path.Join(f.Meta.Path, f.Meta.Name)))
	}
	all, err := wr.c.Allgather(ctx, mine)
	if err != nil {
		return err
	}
	count, seen := map[uint64]int{}, map[uint64]bool{}
	for _, b := range all {
		for ; len(b) >= entry; b = b[entry:] {
			if at := binary.BigEndian.Uint64(b); at != none {
				count[at]++
			}
			name := binary.BigEndian.Uint64(b[8:])
			w.shared = w.shared || seen[name]
			seen[name] = true
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
		if n > 1 { // n is the same on all ranks
			return wr.agree(ctx, err)
		}
	}
	return nil
}

// rename gives a cached file a name that only this rank uses.
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
		if err := durable.Rename(wr.fs, old, f.Name); err != nil {
			return fmt.Errorf("cache: %w", err)
		}
	}
	w.maps.Remove(old)
	return nil
}
