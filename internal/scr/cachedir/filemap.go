package cachedir

import (
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Keys of a file map.
const (
	keyFile = "FILE"
	keyMeta = "META"
)

// MapFile is a file of a rank.
type MapFile struct {
	Name string // absolute, as in the cache; after a scavenge from the prefix directory on
	Meta record.Meta
}

// Filemap says which files a rank has of a dataset: the file filemap_<rank>. A file is in the map on disk before it
// is created, and until it is removed: a file in the map may exist, a file that is not in it does not. Entries that this
// library does not know stay. It is not safe for concurrent use.
type Filemap struct {
	tree *kvtree.Tree
	list map[string]record.Meta
}

// NewFilemap returns an empty map.
func NewFilemap() *Filemap { return &Filemap{tree: kvtree.New(), list: map[string]record.Meta{}} }

// ReadFilemap reads a file map. One that is not there wraps fs.ErrNotExist, one that is damaged is a *FormatError.
func ReadFilemap(fsys vfs.FS, name string) (*Filemap, error) {
	t, err := kvtree.ReadFile(fsys, name, nil)
	if err != nil {
		return nil, err
	}
	return ParseFilemap(t, name)
}

// ParseFilemap reads the tree of a file map and keeps it. file is for errors.
func ParseFilemap(t *kvtree.Tree, file string) (*Filemap, error) {
	if t == nil {
		t = kvtree.New()
	}
	m := &Filemap{tree: t, list: map[string]record.Meta{}}
	for name, sub := range t.Get(keyFile).All() {
		if name == "" {
			return nil, fault.In(file, keyFile, fault.ErrCorrupt, "an empty name")
		}
		meta, err := record.ParseMeta(sub.Get(keyMeta), file)
		if err != nil {
			return nil, err
		}
		m.list[name] = meta
	}
	return m, nil
}

// Tree is the tree of the file. It belongs to the map.
func (m *Filemap) Tree() *kvtree.Tree { return m.tree }

// Write replaces the file of a map.
func (m *Filemap) Write(fsys vfs.FS, name string) error { return kvtree.WriteFile(fsys, name, m.tree) }

// Len is the number of files.
func (m *Filemap) Len() int { return len(m.list) }

// Files returns the files in the order in which they were registered.
func (m *Filemap) Files() []MapFile {
	names := m.tree.Get(keyFile).Keys() // the last first
	slices.Reverse(names)
	all := make([]MapFile, len(names))
	for i, n := range names {
		all[i] = MapFile{n, m.list[n]}
	}
	return all
}

// File returns a file by its name.
func (m *Filemap) File(name string) (MapFile, bool) {
	meta, ok := m.list[name]
	return MapFile{name, meta}, ok
}

// Put registers a file, or replaces its record; its place in the order stays then.
func (m *Filemap) Put(f MapFile) {
	m.tree.SetKV(keyFile, f.Name).Set(keyMeta, f.Meta.Tree())
	m.list[f.Name] = f.Meta
}

// Remove takes a file out.
func (m *Filemap) Remove(name string) {
	m.tree.UnsetKV(keyFile, name)
	delete(m.list, name)
}
