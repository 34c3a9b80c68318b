package subfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// A Set describes the files of one dataset in a directory, found by their names alone.
type Set struct {
	Base     string         // path of the dataset without a subfile number; for a single file, its path
	Single   bool           // the dataset is one file without a number (canonical)
	Members  map[int]string // paths by subfile number, final names only
	Partials map[int]string // paths by subfile number, partial names only
	Next     bool           // a .manifest.next exists
	Manifest bool           // a .manifest exists
	Log      bool           // a commit log exists
}

// Len returns one more than the highest subfile number among final names.
func (s *Set) Len() int {
	n := 0
	for i := range s.Members {
		n = max(n, i+1)
	}
	return n
}

// Find finds the dataset of path: a base name, one of its files, an ordinary file, or a directory with exactly one dataset. It
// opens only a file that may be a stand-in. Find treats a name that ends in a number as the name of a subfile, even if it is the
// name of a dataset or of another file.
func Find(fsys vfs.FS, path string) (*Set, error) {
	fsys = vfs.OrOS(fsys)
	info, err := fsys.Stat(path)
	switch {
	case err == nil && info.IsDir():
		sets, err := List(fsys, path)
		if err != nil {
			return nil, err
		}
		switch len(sets) {
		case 0:
			return nil, fmt.Errorf("%s: no dataset in this directory: %w", path, fs.ErrNotExist)
		case 1:
			return sets[0], nil
		}
		var names []string
		for _, s := range sets {
			names = append(names, filepath.Base(s.Base))
		}
		what := "datasets"
		if sets[0].Single { // perhaps no datasets
			what = "files"
		}
		return nil, fault.Usage("%s: the directory has %d %s; give one of: %s", path, len(sets), what, strings.Join(names, ", "))
	case err == nil && !info.Mode().IsRegular(): // opening a pipe would wait for a writer
		return nil, fault.Usage("%s: not a regular file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	base := Base(path)
	if err == nil && base == path { // path is an ordinary file, even if subfiles with this base name exist, or a stand-in
		stands, serr := StandIn(fsys, path)
		if serr != nil {
			return nil, serr
		}
		if !stands {
			return &Set{Base: path, Single: true, Members: map[int]string{0: path}}, nil
		}
	}
	if b, _, ok := Split(path); ok {
		base = b // a subfile of an appended set gives the base of that set
	}
	s, rerr := members(fsys, base)
	if rerr != nil {
		return nil, rerr
	}
	if s == nil && err != nil && base != path { // a base name may end in a number
		if s, rerr = members(fsys, path); rerr != nil {
			return nil, rerr
		}
	}
	if s != nil {
		return s, nil
	}
	if err == nil {
		return &Set{Base: path, Single: true, Members: map[int]string{0: path}}, nil
	}
	return nil, fmt.Errorf("%s: neither this file nor subfile %s exists: %w", path, Name(filepath.Base(base), 0), fs.ErrNotExist)
}

// members returns the files of the dataset base, or nil if the dataset has no files.
func members(fsys vfs.FS, base string) (*Set, error) {
	dir, name := filepath.Split(base)
	entries, err := fsys.ReadDir(filepath.Clean(dirOr(dir)))
	if err != nil {
		return nil, err
	}
	s := &Set{Base: base}
	for _, e := range begin(entries, name) {
		s.add(dir, name, e.Name())
	}
	// A directory listing may miss a file that is renamed during the listing.
	if !s.Next && !s.Manifest {
		if s.Next, err = isThere(fsys, NextName(base)); err != nil { // first the .manifest.next, because a commit renames it to the .manifest
			return nil, err
		}
		if s.Manifest, err = isThere(fsys, ManifestName(base)); err != nil {
			return nil, err
		}
	}
	if len(s.Members)+len(s.Partials) > 0 || s.Next || s.Manifest || s.Log {
		return s, nil
	}
	return nil, nil
}

// begin returns the entries that begin with name. entries are sorted, so a directory of thousands of datasets stays cheap.
func begin(entries []fs.DirEntry, name string) []fs.DirEntry {
	i, _ := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	n := i
	for n < len(entries) && strings.HasPrefix(entries[n].Name(), name) {
		n++
	}
	return entries[i:n]
}

func isThere(fsys vfs.FS, name string) (bool, error) {
	_, err := fsys.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func dirOr(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

func (s *Set) add(dir, name, entry string) {
	rest, ok := strings.CutPrefix(entry, name)
	if !ok {
		return
	}
	switch rest {
	case manifestSuffix:
		s.Manifest = true
		return
	case nextSuffix:
		s.Next = true
		return
	}
	if b, _, ok := LogOf(entry); ok {
		s.Log = s.Log || b == name
		return
	}
	b, i, ok := Split(entry)
	if !ok || b != name {
		return
	}
	if strings.HasSuffix(entry, partialSuffix) {
		if s.Partials == nil {
			s.Partials = map[int]string{}
		}
		s.Partials[i] = dir + entry
		return
	}
	if s.Members == nil {
		s.Members = map[int]string{}
	}
	s.Members[i] = dir + entry
}

// isFile reports whether an entry is a regular file or a link to one. Directories are not files here. Pipes are not, either,
// because opening a pipe would block.
func isFile(fsys vfs.FS, dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	info, err := fsys.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.Mode().IsRegular()
}

// List returns the datasets of subfiles in a directory, sorted by name. List returns files without a number only if there are no
// datasets of subfiles. It never returns hidden files. A Zarr directory is ErrUnsupported.
func List(fsys vfs.FS, dir string) ([]*Set, error) {
	fsys = vfs.OrOS(fsys)
	sets, single, err := scan(fsys, dir)
	if len(sets) == 0 {
		sets = single
	}
	return sets, err
}

// ListAll returns the datasets of subfiles in a directory and all other visible files, sorted by name. A Zarr directory is
// ErrUnsupported.
func ListAll(fsys vfs.FS, dir string) ([]*Set, error) {
	fsys = vfs.OrOS(fsys)
	sets, single, err := scan(fsys, dir)
	sets = append(sets, single...)
	slices.SortFunc(sets, func(a, b *Set) int { return strings.Compare(a.Base, b.Base) })
	return sets, err
}

func scan(fsys vfs.FS, dir string) (sets, single []*Set, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	base, bases := BaseAmong(entries), map[string]*Set{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !isFile(fsys, dir, e) {
			continue
		}
		b := base(e.Name())
		if b == e.Name() {
			p := filepath.Join(dir, b)
			single = append(single, &Set{Base: p, Single: true, Members: map[int]string{0: p}})
			continue
		}
		if bases[b] == nil {
			bases[b] = &Set{Base: filepath.Join(dir, b)}
		}
	}
	if v := zarrVersion(entries); v != 0 && len(bases) == 0 {
		return nil, nil, fmt.Errorf("%s: blobio cannot read Zarr %d directories; zarr-python, xarray.open_zarr and dask can: %w", dir, v, fault.ErrUnsupported)
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == celloList }) { // a checkpoint's blobio.manifest is not a dataset's manifest
		return nil, nil, fault.In(dir, "", fault.ErrNotFormat, "the directory is a checkpoint of Cello, not a dataset")
	}
	single = slices.DeleteFunc(single, func(s *Set) bool {
		if bases[filepath.Base(s.Base)] == nil {
			return false
		}
		stands, _ := StandIn(fsys, s.Base) // opening the file reports the error
		return stands
	})
	for b, s := range bases {
		for _, e := range begin(entries, b) {
			s.add(strings.TrimSuffix(s.Base, b), b, e.Name())
		}
		sets = append(sets, s)
	}
	slices.SortFunc(sets, func(a, b *Set) int { return strings.Compare(a.Base, b.Base) })
	return sets, single, nil
}

const celloList = "check.file_list"

// zarrVersion returns the version of Zarr if the entries show a Zarr group or array, or 0.
func zarrVersion(entries []fs.DirEntry) (v int) {
	for _, e := range entries {
		switch e.Name() {
		case "zarr.json":
			return 3
		case ".zgroup", ".zarray":
			v = 2
		}
	}
	return v
}
