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

// Holding describes the files of a dataset that are on a node.
type Holding struct {
	Cached               // for a folder that is not listed in the catalogue, only ID and Path are known
	Ranks  []RankHolding // ascending by rank
	Listed bool          // the catalogue lists the dataset
	Gone   bool          // the catalogue lists the dataset, but its folder does not exist
	Old    bool          // the dataset is of generation A or B; Path is the folder of the first file
	Err    error         // the folder cannot be read
}

// RankHolding describes the files of one rank of a dataset that are on a node.
type RankHolding struct {
	Rank       int
	Map        *Filemap // nil: missing or damaged
	Files      []string // application files that exist with the recorded size, in the order of registration
	Missing    []string // files in Map that do not exist, have another size, or were never completed
	Redundancy []string // redundancy files of the rank, sorted, from both groups and all generations
	Err        error    // why the map cannot be used or files cannot be examined
}

// Whole reports whether the map and all files in it exist.
func (r RankHolding) Whole() bool {
	return r.Map != nil && r.Err == nil && len(r.Missing) == 0
}

// Survey examines all datasets in the caches of a node and returns them, sorted by number. catalogName is the path of the
// catalogue. In generations A and B it is the path of the list of file maps (filemap.scrinfo), or of one file map. Listed
// datasets whose folders do not exist are reported too. Survey also searches the cache folders dirs for folders scr.dataset.<id>
// that the catalogue does not list. If the catalogue is damaged, Survey returns the datasets of these folders together with the
// error. Damage to one dataset is reported in its Holding. Survey does not read the contents of files.
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
