package prefixdir

import (
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// fromAB converts a tree of version 1 to version 2. In version 1 a dataset has one entry for each of its copies,
//
//	DSET/<id>/DIR|NAME/<name>/{COMPLETE, DSET, FLUSHED, FETCHED, FAILED}
//
// In version 2 the best copy becomes DSET/<id>. The other copies are kept below COPY, which programs of generation C ignore.
func (x *Index) fromAB() error {
	t := x.Tree
	x.From = GenB
	if t.Has(keyDir) {
		x.From = GenA
	}
	names := t.Extract(keyDir)
	if names != nil {
		t.Touch(keyName).Merge(names)
	}
	current := x.Current()
	for key, old := range t.Get(keyDset).All() {
		id, err := strconv.Atoi(key)
		if err != nil {
			return fault.In(x.file, keyDset, fault.ErrCorrupt, "%.40q, want the number of a dataset", key)
		}
		copies := kvtree.New()
		for _, under := range []string{keyDir, keyName} {
			if sub := old.Extract(under); sub != nil {
				if under == keyDir {
					x.From = GenA
				}
				copies.Merge(sub)
			}
		}
		best, err := x.bestCopy(id, copies, current)
		if err != nil {
			return err
		}
		if best == "" {
			if !old.Has(keyDset) {
				return fault.In(x.file, keyDset+"/"+key, fault.ErrCorrupt, "no name")
			}
			continue // already in the form of version 2
		}
		main := copies.Extract(best)
		ds := main.Touch(keyDset)
		if name, _ := ds.Value(keyName).Str(); name != best {
			ds.Value(keyName).SetStr(best) // in generation A the name of the folder, because the folder may have been renamed
		}
		for name := range copies.All() { // in version 2 every name refers to the only entry of its dataset
			if t.GetKV(keyName, name).GetKVInt(keyDset, id) != nil {
				t.UnsetKV(keyName, name)
			}
		}
		if copies.Len() > 0 {
			old.Touch(keyCopy).Merge(copies)
		}
		old.Merge(main)
	}
	t.Value(keyVersion).SetInt(indexVersionC)
	return nil
}

// bestCopy returns the name of the copy to restart from: the current copy, or else a complete copy that has not failed, or else
// the copy that was flushed last.
func (x *Index) bestCopy(id int, copies *kvtree.Tree, current string) (string, error) {
	type rated struct {
		name string
		e    Entry
	}
	var all []rated
	for name, t := range copies.All() {
		e, err := x.entry(id, t, false)
		if err != nil {
			return "", err
		}
		all = append(all, rated{name, e})
	}
	if len(all) == 0 {
		return "", nil
	}
	good := func(r rated) int {
		n := 0
		if r.e.Complete && r.e.Failed.IsZero() {
			n += 2
			if r.name == current {
				n++
			}
		}
		return n
	}
	slices.SortFunc(all, func(a, b rated) int {
		if c := good(b) - good(a); c != 0 {
			return c
		}
		if c := b.e.Flushed.Compare(a.e.Flushed); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return all[0].name, nil
}
