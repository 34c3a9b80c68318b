package prefixdir

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Entry is a dataset in the index.
type Entry struct {
	ID       int
	Name     string // name of the dataset; in generation A the name of its folder
	Dataset  Dataset
	Complete bool
	Flushed  time.Time   // zero: unknown
	Fetched  []time.Time // times of all fetches, ascending
	Failed   time.Time   // time of the last failed fetch; zero: none
	Current  bool
	Copy     bool // another copy of the dataset, under a different name (generations A and B)
}

// Restartable reports whether a run may restart from the dataset, according to the index.
func (e Entry) Restartable() bool {
	return e.Complete && e.Failed.IsZero() && e.Dataset.Checkpoint && !e.Copy
}

// Unfit explains why a dataset is not Restartable.
func (e Entry) Unfit() string {
	switch {
	case !e.Complete:
		return "not complete"
	case !e.Failed.IsZero():
		return "one that failed on " + e.Failed.Local().Format(timeLayout)
	case !e.Dataset.Checkpoint:
		return "no checkpoint"
	}
	return "not usable"
}

// Entries returns all entries, newest dataset first.
func (x *Index) Entries() []Entry {
	all, err := x.entries()
	if err != nil {
		return nil // happens only if other code changed Tree
	}
	return all
}

func (x *Index) entries() ([]Entry, error) {
	var all []Entry
	current := x.Current()
	for key, t := range x.Tree.Get(keyDset).All() {
		id, ok := record.Number(key)
		if !ok || id < 1 {
			return nil, fault.In(x.file, keyDset, fault.ErrCorrupt, "%.40q, want the number of a dataset", key)
		}
		e, err := x.entry(id, t, false)
		if err != nil {
			return nil, err
		}
		e.Current = e.Name == current
		all = append(all, e)
		for name, sub := range t.Get(keyCopy).All() {
			c, err := x.entry(id, sub, true)
			if err != nil {
				return nil, err
			}
			c.Name = name
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int {
		if c := cmp.Compare(b.ID, a.ID); c != 0 {
			return c
		}
		if a.Copy != b.Copy {
			if a.Copy {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all, nil
}

func (x *Index) entry(id int, t *kvtree.Tree, isCopy bool) (Entry, error) {
	path := keyDset + "/" + strconv.Itoa(id)
	f := record.Fields{Tree: t, File: x.file, Path: path}
	e := Entry{ID: id, Complete: f.Bool(keyComplete), Copy: isCopy}
	var err error
	if e.Dataset, err = record.ParseDataset(t.Get(keyDset), x.file); err != nil {
		return e, err
	}
	e.Name = e.Dataset.Name
	if e.Dataset.ID != 0 && e.Dataset.ID != id {
		return e, fault.In(x.file, path+"/DSET/ID", fault.ErrCorrupt, "%d, want %d", e.Dataset.ID, id)
	}
	e.Dataset.ID = id
	if e.Name == "" { // an entry of generation A without a record
		for name, sub := range x.Tree.Get(keyName).All() {
			if sub.GetKVInt(keyDset, id) != nil {
				e.Name, e.Dataset.Name = name, name
			}
		}
	}
	times := func(key string) []time.Time {
		var all []time.Time
		for text := range t.Get(key).All() {
			at, perr := time.ParseInLocation(timeLayout, text, x.loc)
			if perr != nil {
				if err == nil {
					err = fault.In(x.file, path+"/"+key, fault.ErrCorrupt, "%.40q, want YYYY-MM-DDThh:mm:ss", text)
				}
				continue
			}
			all = append(all, at)
		}
		slices.SortFunc(all, time.Time.Compare)
		return all
	}
	last := func(all []time.Time) time.Time {
		if len(all) == 0 {
			return time.Time{}
		}
		return all[len(all)-1]
	}
	e.Flushed, e.Fetched, e.Failed = last(times(keyFlushed)), times(keyFetched), last(times(keyFailed))
	if err == nil {
		err = f.Err()
	}
	return e, err
}
