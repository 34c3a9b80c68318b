package cachedir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Names and keys of generations A and B.
const (
	keyMaster   = "Filemap"  // key of the list of file maps
	keyDataDesc = "DATADESC" // used by the earliest versions instead of DSETDESC
	mapSuffix   = ".scrinfo"
	typeXOR     = "XOR"
)

// listedOld returns the node's datasets according to its file maps. t is the tree of the file name, either the list of file
// maps or one file map. File maps in the same folder that are not in the list are included.
func listedOld(fsys vfs.FS, t *kvtree.Tree, name string) ([]Holding, error) {
	o := oldMaps{sets: map[int]*Holding{}, ranks: map[[2]int]*RankHolding{}}
	if t.Has(keyRank) {
		if err := o.add(t, name); err != nil {
			return nil, err
		}
	} else {
		names := t.Get(keyMaster).Keys()
		list, err := fsys.ReadDir(path.Dir(name))
		if gone(err) != nil {
			return nil, err
		}
		for _, e := range list { // from a run that ended before it wrote the list of file maps
			text, ok := strings.CutPrefix(e.Name(), filemapPrefix)
			if !ok {
				continue
			}
			if text, ok = strings.CutSuffix(text, mapSuffix); !ok {
				continue
			}
			if full := path.Join(path.Dir(name), e.Name()); !slices.Contains(names, full) {
				if _, ok := record.Number(text); ok {
					names = append(names, full)
				}
			}
		}
		slices.Sort(names)
		for _, n := range names {
			m, err := kvtree.ReadFile(fsys, n, nil)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = o.add(m, n)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return o.holdings(fsys), nil
}

// oldMaps merges the file maps of all processes by dataset and rank.
type oldMaps struct {
	sets  map[int]*Holding
	ranks map[[2]int]*RankHolding // by dataset number and rank
}

func (o *oldMaps) add(t *kvtree.Tree, file string) error {
	for rankKey, perRank := range t.Get(keyRank).All() {
		rank, ok := record.Number(rankKey)
		if !ok {
			return fault.In(file, keyRank, fault.ErrCorrupt, "%.40q, want a rank", rankKey)
		}
		for idKey, sub := range perRank.Get(keyDset).All() {
			id, ok := record.Number(idKey)
			if !ok || id < 1 {
				return fault.In(file, keyRank+"/"+rankKey+"/"+keyDset, fault.ErrCorrupt, "%.40q, want the number of a dataset", idKey)
			}
			if err := o.addRank(id, rank, sub, file); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *oldMaps) addRank(id, rank int, t *kvtree.Tree, file string) error {
	h := o.sets[id]
	if h == nil {
		h = &Holding{Cached: Cached{ID: id}, Listed: true, Old: true}
		o.sets[id] = h
	}
	for _, key := range []string{keyDsetDesc, keyDataDesc} {
		if desc := t.Get(key); desc.Len() > 0 && h.Dataset.ID == 0 {
			ds, err := record.ParseDataset(desc, file)
			if err != nil {
				return err
			}
			h.Dataset = ds
		}
	}
	r := o.ranks[[2]int{id, rank}]
	if r == nil {
		r = &RankHolding{Rank: rank, Map: NewFilemap()}
		o.ranks[[2]int{id, rank}] = r
	}
	m, err := ParseFilemap(t.Clone(), file)
	if err != nil {
		return err
	}
	users := 0
	for _, f := range m.Files() {
		if f.Meta.Type == typeXOR {
			if !slices.Contains(r.Redundancy, f.Name) {
				r.Redundancy = append(r.Redundancy, f.Name)
			}
		} else {
			r.Map.Put(f)
			users++
		}
		if dir := path.Dir(f.Name); h.Path == "" && path.Base(dir) != metaName {
			h.Path = dir
		}
	}
	f := record.Fields{Tree: t, File: file, Path: fmt.Sprintf("%s/%d/%s/%d", keyRank, rank, keyDset, id)}
	if want := f.Int(keyFiles, 0); f.Err() == nil && t.Has(keyFiles) && want != m.Len() && want != users {
		r.Err = fmt.Errorf("%s: rank %d of dataset %d has %d files, want %d: %w", file, rank, id, m.Len(), want, fault.ErrMissing)
	}
	return f.Err()
}

// holdings checks that the files exist, and returns all datasets, sorted by number.
func (o *oldMaps) holdings(fsys vfs.FS) []Holding {
	keys := make([][2]int, 0, len(o.ranks))
	for k := range o.ranks {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		r, h := o.ranks[k], o.sets[k[0]]
		r.fill(fsys)
		there := r.Redundancy[:0]
		for _, n := range r.Redundancy {
			if _, err := fsys.Stat(n); err == nil {
				there = append(there, n)
			} else {
				r.Missing = append(r.Missing, n)
			}
		}
		r.Redundancy = there
		slices.Sort(r.Redundancy)
		h.Ranks = append(h.Ranks, *r)
	}
	var all []Holding
	for _, id := range slices.Sorted(maps.Keys(o.sets)) {
		h := o.sets[id]
		if _, err := fsys.Stat(h.Path); h.Path != "" && errors.Is(err, fs.ErrNotExist) {
			h.Gone = true
		}
		all = append(all, *h)
	}
	return all
}
