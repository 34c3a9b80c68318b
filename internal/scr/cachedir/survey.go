package cachedir

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Holding has a node's files of a dataset.
type Holding struct {
	Cached               // of a folder that is not listed only ID and Path are known
	Ranks  []RankHolding // by rank, ascending
	Listed bool          // in the catalogue
	Gone   bool          // the catalogue names a folder that is not there
	Old    bool          // of generation A or B; Path is where the first file is
	Err    error         // the folder cannot be read
}

// RankHolding has a node's files of one rank in a dataset.
type RankHolding struct {
	Rank       int
	Map        *Filemap // nil: there is none, or it is damaged
	Files      []string // of the application, in the order of registration: they are there, with the size of their record
	Missing    []string // listed in Map, but not there, of another size, or never completed
	Redundancy []string // redundancy files of the rank of both groups, and of generations A and B; sorted
	Err        error    // why the map cannot be used, or files cannot be looked at
}

// Whole reports whether the map and all files that it lists are there.
func (r RankHolding) Whole() bool {
	return r.Map != nil && r.Err == nil && len(r.Missing) == 0
}

// Survey looks at all datasets in the caches of a node, by number. catalogName is the catalogue (or of
// generations A and B the list of maps, filemap.scrinfo, or one map); folders that it names but which are gone are
// reported too. dirs are cache folders, in which Survey also looks for folders scr.dataset.<id> that the catalogue does not
// list. If the catalogue is damaged, their datasets are returned together with the error. Damage of one dataset is
// in its Holding. The content of files is not looked at.
func Survey(fsys vfs.FS, catalogName string, dirs ...string) ([]Holding, error) {
	all, err := listed(fsys, catalogName)
	if err != nil && !fault.IsDamage(err) {
		return nil, err
	}
	known := map[string]bool{}
	for _, h := range all {
		known[path.Clean(h.Path)] = true
	}
	for _, dir := range dirs {
		list, rerr := fsys.ReadDir(dir)
		if gone(rerr) != nil {
			return nil, rerr
		}
		for _, e := range list {
			id, ok := record.DatasetID(e.Name())
			name := path.Join(dir, e.Name())
			if !ok || !e.IsDir() || known[name] {
				continue
			}
			known[name] = true
			h := Holding{Cached: Cached{ID: id, Path: name}}
			h.fill(fsys)
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b Holding) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}

// listed returns the datasets that the catalogue lists.
func listed(fsys vfs.FS, name string) ([]Holding, error) {
	t, err := kvtree.ReadFile(fsys, name, nil)
	if errors.Is(err, fs.ErrNotExist) {
		t, err = kvtree.New(), nil
	}
	if err != nil {
		return nil, err
	}
	if path.Base(name) == MasterName || t.Has(keyMaster) || t.Has(keyRank) {
		return listedOld(fsys, t, name)
	}
	c, err := ParseCatalog(t, name)
	if err != nil {
		return nil, err
	}
	var all []Holding
	for _, e := range c.Entries() {
		h := Holding{Cached: e, Listed: true}
		h.fill(fsys)
		all = append(all, h)
	}
	return all, nil
}

// fill fills in the content of the folder.
func (h *Holding) fill(fsys vfs.FS) {
	list, err := fsys.ReadDir(MetaDir(h.Path))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := fsys.Stat(h.Path); errors.Is(err, fs.ErrNotExist) {
			h.Gone = true
		}
		return
	}
	if err != nil {
		h.Err = err
		return
	}
	ranks := map[int]*RankHolding{}
	of := func(rank int) *RankHolding {
		if ranks[rank] == nil {
			ranks[rank] = &RankHolding{Rank: rank}
		}
		return ranks[rank]
	}
	for _, e := range list {
		name := path.Join(MetaDir(h.Path), e.Name())
		rank, ok := RankOf(e.Name())
		switch {
		case !ok:
		case name == FilemapName(h.Path, rank):
			r := of(rank)
			if r.Map, r.Err = ReadFilemap(fsys, name); r.Err != nil {
				r.Map = nil
			}
		default:
			r := of(rank)
			r.Redundancy = append(r.Redundancy, name)
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(ranks)) {
		r := ranks[rank]
		r.fill(fsys)
		h.Ranks = append(h.Ranks, *r)
	}
}

// fill finds out which files of the map are there.
func (r *RankHolding) fill(fsys vfs.FS) {
	if r.Map == nil {
		return
	}
	for _, f := range r.Map.Files() {
		st, err := fsys.Stat(f.Name)
		switch {
		case err == nil && f.Meta.Complete && st.Mode().IsRegular() && st.Size() == f.Meta.Size:
			r.Files = append(r.Files, f.Name)
		case gone(err) != nil:
			r.Err = errors.Join(r.Err, err)
			fallthrough
		default:
			r.Missing = append(r.Missing, f.Name)
		}
	}
}
