package cachedir

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Keys of the catalogue.
const (
	keyDset     = "DSET"
	keyDsetDesc = "DSETDESC"
	keyPath     = "PATH"
	keyBypass   = "BYPASS"
)

// Cached is a dataset in a catalogue.
type Cached struct {
	ID      int // from 1
	Dataset record.Dataset
	Path    string // absolute path of its folder in the cache
	Bypass  bool   // the application's files are in the prefix directory; the folder holds only metadata
}

// Catalog is the file cindex.scrinfo in the control folder of a node. It lists the datasets in the caches of the node. Unknown
// entries are kept. It is not safe for concurrent use.
type Catalog struct {
	tree *kvtree.Tree
	list map[int]Cached
}

// NewCatalog returns an empty catalogue.
func NewCatalog() *Catalog { return &Catalog{tree: kvtree.New(), list: map[int]Cached{}} }

// ReadCatalog reads a catalogue. If the file is missing, the catalogue is empty. If the file is damaged, the error is a
// *FormatError.
func ReadCatalog(fsys vfs.FS, name string) (*Catalog, error) {
	t, err := kvtree.ReadFile(fsys, name, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return NewCatalog(), nil
	}
	if err != nil {
		return nil, err
	}
	return ParseCatalog(t, name)
}

// ParseCatalog reads the tree of a catalogue and keeps the tree. Errors name file.
func ParseCatalog(t *kvtree.Tree, file string) (*Catalog, error) {
	if t == nil {
		t = kvtree.New()
	}
	c := &Catalog{tree: t, list: map[int]Cached{}}
	for key, sub := range t.Get(keyDset).All() {
		id, ok := record.Number(key)
		if !ok || id < 1 {
			return nil, fault.In(file, keyDset, fault.ErrCorrupt, "%.40q, want the number of a dataset", key)
		}
		where := keyDset + "/" + key
		f := record.Fields{Tree: sub, File: file, Path: where}
		e := Cached{ID: id, Path: f.Str(keyPath), Bypass: f.Bool(keyBypass)}
		if err := f.Err(); err != nil {
			return nil, err
		}
		if e.Path == "" {
			return nil, fault.In(file, where+"/"+keyPath, fault.ErrCorrupt, "no folder")
		}
		var err error
		if e.Dataset, err = record.ParseDataset(sub.Get(keyDsetDesc), file); err != nil {
			return nil, err
		}
		if e.Dataset.ID != id && e.Dataset.ID != 0 {
			return nil, fault.In(file, where+"/"+keyDsetDesc+"/ID", fault.ErrCorrupt, "%d, want %d", e.Dataset.ID, id)
		}
		c.list[id] = e
	}
	return c, nil
}

// Tree returns the tree of the file. It belongs to the catalogue.
func (c *Catalog) Tree() *kvtree.Tree { return c.tree }

// Write replaces the catalogue file. After a crash the file holds either the old or the new catalogue, never a mix.
func (c *Catalog) Write(fsys vfs.FS, name string) error { return kvtree.WriteFile(fsys, name, c.tree) }

// Len returns the number of datasets.
func (c *Catalog) Len() int { return len(c.list) }

// Entries returns the datasets, ascending by number.
func (c *Catalog) Entries() []Cached {
	all := make([]Cached, 0, len(c.list))
	for _, id := range slices.Sorted(maps.Keys(c.list)) {
		all = append(all, c.list[id])
	}
	return all
}

// Entry returns the dataset with this number.
func (c *Catalog) Entry(id int) (Cached, bool) {
	e, ok := c.list[id]
	return e, ok
}

// Put adds a dataset or replaces its entry. Put does not check the entry: readers reject an entry whose number or path is
// missing.
func (c *Catalog) Put(e Cached) {
	e.Dataset.ID = e.ID
	sub := c.tree.SetKVInt(keyDset, e.ID)
	sub.Value(keyPath).SetStr(e.Path)
	record.SetBool(sub, keyBypass, e.Bypass)
	sub.Set(keyDsetDesc, e.Dataset.Tree())
	c.list[e.ID] = e
}

// tree returns a catalogue with this dataset only.
func (e Cached) tree() *kvtree.Tree {
	c := NewCatalog()
	c.Put(e)
	return c.tree
}

// Rebuild makes a catalogue from the folders scr.dataset.<id> in cache folders, for a node that has lost its catalogue. It lists
// the datasets that this library protected, because their folders contain a copy of the catalogue entry. All other folders are
// returned in unknown. They hold unfinished datasets, or datasets of the original SCR.
func Rebuild(fsys vfs.FS, dirs ...string) (c *Catalog, unknown []string, err error) {
	c = NewCatalog()
	for _, dir := range dirs {
		list, err := fsys.ReadDir(dir)
		if gone(err) != nil {
			return nil, nil, err
		}
		for _, f := range list {
			id, ok := record.DatasetID(f.Name())
			if !ok || !f.IsDir() {
				continue
			}
			name := path.Join(dir, f.Name())
			e, ok := entryIn(fsys, name, id)
			if _, twice := c.Entry(id); !ok || twice {
				unknown = append(unknown, name)
				continue
			}
			c.Put(e)
		}
	}
	return c, unknown, nil
}

// entryIn reads a dataset's copy of its catalogue entry from its folder.
func entryIn(fsys vfs.FS, dir string, id int) (Cached, bool) {
	name := GroupFile(dir, MapGroup, stateName)
	t, err := kvtree.ReadFile(fsys, name, nil)
	if err != nil || t.Has(keyState) && t.GetKV(keyState, strconv.Itoa(StateEncoded)) == nil {
		return Cached{}, false
	}
	c, err := ParseCatalog(t, name)
	if err != nil {
		return Cached{}, false
	}
	e, ok := c.Entry(id)
	return e, ok && path.Clean(e.Path) == dir && e.Dataset.Complete
}

// Remove removes a dataset.
func (c *Catalog) Remove(id int) {
	c.tree.UnsetKV(keyDset, strconv.Itoa(id))
	delete(c.list, id)
}
