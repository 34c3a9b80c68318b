package prefixdir

import (
	"fmt"
	"strconv"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Keys of index.scr.
const (
	keyVersion  = "VERSION"
	keyCurrent  = "CURRENT"
	keyName     = "NAME"
	keyDir      = "DIR" // used instead of NAME in generation A
	keyDset     = "DSET"
	keyComplete = "COMPLETE"
	keyFlushed  = "FLUSHED"
	keyFetched  = "FETCHED"
	keyFailed   = "FAILED"
	keyCopy     = "COPY" // our own key: further copies of a dataset, which exist only in generations A and B
)

const (
	indexVersionAB = 1
	indexVersionC  = 2
)

// timeLayout is the layout of times in the index: local time without a zone.
const timeLayout = "2006-01-02T15:04:05"

// maxIndexEntries is the maximum number of entries read from a file.
const maxIndexEntries = 1 << 20

// Index is the content of the index: the datasets and their states. It is always held in the form of generation C. Unknown
// entries are kept. Times have whole seconds.
type Index struct {
	Tree *kvtree.Tree
	From Generation // generation of the file that was read; 0 if there was none

	file string // for errors
	loc  *time.Location
}

// parseIndex checks each entry of a tree and converts the tree to generation C.
func parseIndex(t *kvtree.Tree, file string, loc *time.Location) (*Index, error) {
	x := &Index{Tree: t, From: GenC, file: file, loc: loc}
	f := record.Fields{Tree: t, File: file}
	version := f.Int(keyVersion, 1)
	if err := f.Err(); err != nil {
		return nil, err
	}
	switch {
	case t.Len() == 0: // an empty file
		return nil, fault.In(file, keyVersion, fault.ErrTruncated, "the file is empty")
	case version == indexVersionC:
	case version <= indexVersionAB: // version 0: the key is missing
		if err := x.fromAB(); err != nil {
			return nil, err
		}
	default:
		return nil, fault.In(file, keyVersion, fault.ErrVersion, "%d, want %d or %d", version, indexVersionAB, indexVersionC)
	}
	if n := t.Get(keyDset).Len(); n > maxIndexEntries {
		return nil, fault.In(file, keyDset, fault.ErrCorrupt, "%d datasets, want at most %d", n, maxIndexEntries)
	}
	entries, err := x.entries()
	if err != nil {
		return nil, err
	}
	for _, e := range entries { // correct names that are missing or refer to another dataset
		if !e.Copy && t.GetKV(keyName, e.Name).GetKVInt(keyDset, e.ID) == nil {
			t.SetKV(keyName, e.Name).Value(keyDset).SetInt(e.ID)
		}
	}
	return x, nil
}

// Len returns the number of datasets.
func (x *Index) Len() int { return x.Tree.Get(keyDset).Len() }

// Entry returns the dataset with the given name.
func (x *Index) Entry(name string) (Entry, bool) {
	id, ok := x.ID(name)
	if !ok {
		return Entry{}, false
	}
	e, err := x.entry(id, x.entryTree(id), false)
	e.Current = e.Name == x.Current()
	return e, err == nil && e.Name == name
}

// ID returns the number of the dataset with the given name.
func (x *Index) ID(name string) (int, bool) {
	id, err := x.Tree.GetKV(keyName, name).Value(keyDset).Int()
	return id, err == nil && x.entryTree(id) != nil
}

// LastID returns the highest dataset number, 0 if there is none. The next dataset gets a higher number.
func (x *Index) LastID() int {
	last := 0
	for _, e := range x.Entries() {
		last = max(last, e.ID)
	}
	return last
}

// LastCkpt returns the highest checkpoint number, 0 if there is none.
func (x *Index) LastCkpt() int {
	last := 0
	for _, e := range x.Entries() {
		last = max(last, e.Dataset.Ckpt)
	}
	return last
}

func (x *Index) entryTree(id int) *kvtree.Tree { return x.Tree.Get(keyDset).Get(strconv.Itoa(id)) }

// Add adds a dataset to the index, or replaces its record and keeps its times. The error is ErrExist if another dataset has the
// name, or if the number has another name. A dataset is added with complete false before its first byte is written.
func (x *Index) Add(ds Dataset, complete bool) error {
	if err := checkID(ds.ID); err != nil {
		return err
	}
	if err := checkName(ds.Name); err != nil {
		return err
	}
	if id, ok := x.ID(ds.Name); ok && id != ds.ID {
		return fmt.Errorf("%q is the name of dataset %d, want %d: %w", ds.Name, id, ds.ID, fault.ErrExist)
	}
	t := x.entryTree(ds.ID)
	if t != nil {
		if old, err := x.entry(ds.ID, t, false); err != nil || old.Name != ds.Name {
			return fmt.Errorf("dataset %d has the name %q in the index, want %q (%v): %w", ds.ID, old.Name, ds.Name, err, fault.ErrExist)
		}
	} else {
		t = x.Tree.SetKVInt(keyDset, ds.ID)
	}
	t.Set(keyDset, ds.Tree())
	record.SetBool(t, keyComplete, complete)
	x.Tree.SetKV(keyName, ds.Name).Value(keyDset).SetInt(ds.ID)
	return nil
}

// Remove removes a dataset from the index. If it was the current one, the next older restartable dataset becomes current.
func (x *Index) Remove(name string) error {
	e, ok := x.Entry(name)
	if !ok {
		return missing(name)
	}
	x.Tree.UnsetKVInt(keyDset, e.ID)
	x.Tree.UnsetKV(keyName, name)
	if !e.Current {
		return nil
	}
	x.Tree.Unset(keyCurrent)
	if next, ok := x.Newest(e.ID); ok {
		return x.SetCurrent(next.Name)
	}
	return nil
}

func missing(name string) error {
	return fmt.Errorf("no dataset %.80q in the index: %w", name, fault.ErrMissing)
}

// SetComplete records whether all files of a dataset exist.
func (x *Index) SetComplete(name string, complete bool) error {
	return x.edit(name, func(t *kvtree.Tree) { record.SetBool(t, keyComplete, complete) })
}

// MarkFlushed records the time when a dataset was written.
func (x *Index) MarkFlushed(name string, at time.Time) error {
	return x.mark(name, keyFlushed, at, false)
}

// MarkFetched adds a time when a fetch of the dataset began.
func (x *Index) MarkFetched(name string, at time.Time) error {
	return x.mark(name, keyFetched, at, true)
}

// MarkFailed records the time when a dataset proved unusable. From then on Newest and Candidates skip it.
func (x *Index) MarkFailed(name string, at time.Time) error {
	return x.mark(name, keyFailed, at, false)
}

// ClearFailed undoes MarkFailed.
func (x *Index) ClearFailed(name string) error {
	return x.edit(name, func(t *kvtree.Tree) { t.Unset(keyFailed) })
}

func (x *Index) mark(name, key string, at time.Time, add bool) error {
	text := at.In(x.loc).Format(timeLayout)
	return x.edit(name, func(t *kvtree.Tree) {
		if !add {
			t.Unset(key)
		}
		t.SetKV(key, text)
	})
}

func (x *Index) edit(name string, change func(t *kvtree.Tree)) error {
	id, ok := x.ID(name)
	if !ok {
		return missing(name)
	}
	change(x.entryTree(id))
	return nil
}

// Current returns the name of the dataset to restart from, "" if none is set.
func (x *Index) Current() string {
	name, err := x.Tree.Value(keyCurrent).Str()
	if err != nil {
		return ""
	}
	return name
}

// SetCurrent selects the dataset to restart from; "" selects none.
func (x *Index) SetCurrent(name string) error {
	if name == "" {
		x.Tree.Unset(keyCurrent)
		return nil
	}
	if _, ok := x.ID(name); !ok {
		return missing(name)
	}
	x.Tree.Value(keyCurrent).SetStr(name)
	return nil
}

// Newest returns the newest checkpoint that is complete, has not failed, and has a number below limit. 0 means no limit.
func (x *Index) Newest(limit int) (Entry, bool) {
	for _, e := range x.Entries() {
		if e.Restartable() && (limit == 0 || e.ID < limit) {
			return e, true
		}
	}
	return Entry{}, false
}

// Candidates returns the checkpoints to restart from, in the order to try them: the current one, then older ones, newest first.
// Without a current one it returns all, newest first. Incomplete and failed checkpoints are left out, even the current one. A
// program that sets the current checkpoint has given up all newer ones.
func (x *Index) Candidates() []Entry {
	limit := 0
	if e, ok := x.Entry(x.Current()); ok {
		limit = e.ID
	}
	var all []Entry
	for _, e := range x.Entries() {
		if e.Restartable() && (limit == 0 || e.ID <= limit) {
			all = append(all, e)
		}
	}
	return all
}
