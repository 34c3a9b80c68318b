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

// A Set is what a directory shows of one dataset, before any file is opened.
type Set struct {
	Base     string         // path of the dataset without number; for a single file its path
	Single   bool           // one file without a number: a canonical file
	Members  map[int]string // subfile number → path, final names only
	Partials map[int]string // subfile number → path under a partial name
	Next     bool           // a .manifest.next is there
	Manifest bool           // a .manifest is there
	Log      bool           // a log of commits is there
}

// Len returns one more than the highest subfile number seen under a final name.
func (s *Set) Len() int {
	n := 0
	for i := range s.Members {
		n = max(n, i+1)
	}
	return n
}

// Find looks for the dataset that path means: a base name, one of its files,
// an ordinary file, or a directory that holds exactly one dataset. It goes by names and opens no file: a name with a
// number at its end means the dataset that could have it as a subfile, even if it is none, or is the name of a dataset itself.
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
		return nil, fault.Usage("%s: the directory has %d datasets, want one of: %s", path, len(sets), strings.Join(names, ", "))
	case err == nil && !info.Mode().IsRegular(): // to open a pipe would wait for a writer
		return nil, fault.Usage("%s: not a regular file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if err == nil && Base(path) == path { // exactly this file, even if subfiles of its name lie beside it
		return &Set{Base: path, Single: true, Members: map[int]string{0: path}}, nil
	}
	base := Base(path)
	if b, _, ok := Split(path); ok {
		base = b // a member of an appended set names that set
	}
	s, rerr := members(fsys, base)
	if rerr != nil {
		return nil, rerr
	}
	if s == nil && err != nil && base != path { // a base name may itself end in a number
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

// members returns the files of the dataset with this base name, nil if there are none.
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
	// A file that is renamed while a directory is listed may be missing in the list.
	if !s.Next && !s.Manifest {
		if s.Next, err = isThere(fsys, NextName(base)); err != nil { // in this order: the one becomes the other
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

// begin returns the sorted entries whose names begin with name: in a directory of thousands of datasets each looks at its own only.
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

// isFile reports whether an entry is a regular file, or a link to one: not a
// directory, and no pipe, which could not be opened without waiting.
func isFile(fsys vfs.FS, dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	info, err := fsys.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.Mode().IsRegular()
}

// List returns the datasets of subfiles in a directory, by name. Files without
// a number count only if nothing else is there; hidden files never. A Zarr directory is ErrUnsupported.
func List(fsys vfs.FS, dir string) ([]*Set, error) {
	fsys = vfs.OrOS(fsys)
	sets, single, err := scan(fsys, dir)
	if len(sets) == 0 {
		sets = single
	}
	return sets, err
}

// ListAll returns the datasets of subfiles in a directory, and all other
// files that are not hidden, by name. A Zarr directory is ErrUnsupported.
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
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == celloList }) { // its blobio.manifest is none of a dataset
		return nil, nil, fault.In(dir, "", fault.ErrNotFormat, "the directory is a checkpoint of Cello, not a dataset")
	}
	for b, s := range bases {
		for _, e := range begin(entries, b) {
			s.add(strings.TrimSuffix(s.Base, b), b, e.Name())
		}
		sets = append(sets, s)
	}
	slices.SortFunc(sets, func(a, b *Set) int { return strings.Compare(a.Base, b.Base) })
	return sets, single, nil
}

// celloList is the file by which package cello knows a checkpoint.
const celloList = "check.file_list"

// zarrVersion returns the version of Zarr if the names of these entries make their directory a group or an array, or 0.
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
