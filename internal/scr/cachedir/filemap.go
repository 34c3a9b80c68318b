package cachedir

import (
	"slices"

	"blobio/internal/base/durable"
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
	Name string // absolute path in the cache; in a file map that a scavenge copied, relative to the prefix directory
	Meta record.Meta
}

// Filemap is the file filemap_<rank>. It lists the files that a rank has of a dataset. A file is added to the list on disk
// before the file is created, and removed from the list after the file is removed. Therefore a file that is not listed does
// not exist. Unknown entries are kept. A Filemap is not safe for concurrent use.
type Filemap struct {
	tree  *kvtree.Tree
	list  map[string]record.Meta
	stale map[string]bool // files whose records in the tree are older than those in the list
}

// NewFilemap returns an empty map.
func NewFilemap() *Filemap { return newFilemap(kvtree.New()) }

func newFilemap(t *kvtree.Tree) *Filemap {
	return &Filemap{tree: t, list: map[string]record.Meta{}, stale: map[string]bool{}}
}

// ReadFilemap reads a file map. The error wraps fs.ErrNotExist if the map is missing, and is a *FormatError if it is damaged.
func ReadFilemap(fsys vfs.FS, name string) (*Filemap, error) {
	t, err := kvtree.ReadFile(fsys, name, nil)
	if err != nil {
		return nil, err
	}
	return ParseFilemap(t, name)
}

// ParseFilemap reads the tree of a file map and keeps the tree. Errors name file.
func ParseFilemap(t *kvtree.Tree, file string) (*Filemap, error) {
	if t == nil {
		t = kvtree.New()
	}
	m := newFilemap(t)
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

// Tree returns the tree of the file. The tree belongs to the Filemap.
func (m *Filemap) Tree() *kvtree.Tree {
	for name := range m.stale {
		m.tree.SetKV(keyFile, name).Set(keyMeta, m.list[name].Tree())
	}
	clear(m.stale)
	return m.tree
}

// Write replaces the file of the map.
func (m *Filemap) Write(fsys vfs.FS, name string) error {
	return kvtree.WriteFile(fsys, name, m.Tree())
}

// Replace is like Write, but the caller must sync the folder.
func (m *Filemap) Replace(fsys vfs.FS, name string) error { return replace(fsys, name, m.Tree()) }

func replace(fsys vfs.FS, name string, t *kvtree.Tree) error {
	b, err := kvtree.Encode(t)
	if err != nil {
		return err
	}
	return durable.Replace(fsys, name, b, durable.ReplaceOptions{Sync: true})
}

// Len returns the number of files.
func (m *Filemap) Len() int { return len(m.list) }

// Files returns the files in the order of registration.
func (m *Filemap) Files() []MapFile {
	names := m.tree.Get(keyFile).Keys() // newest first
	slices.Reverse(names)
	all := make([]MapFile, len(names))
	for i, n := range names {
		all[i] = MapFile{n, m.list[n]}
	}
	return all
}

// File returns the file with this name.
func (m *Filemap) File(name string) (MapFile, bool) {
	meta, ok := m.list[name]
	return MapFile{name, meta}, ok
}

// Put registers a file, or replaces its record without changing the order.
func (m *Filemap) Put(f MapFile) {
	m.tree.SetKV(keyFile, f.Name)
	m.list[f.Name], m.stale[f.Name] = f.Meta, true
}

// Remove removes a file.
func (m *Filemap) Remove(name string) {
	m.tree.UnsetKV(keyFile, name)
	delete(m.list, name)
	delete(m.stale, name)
}
