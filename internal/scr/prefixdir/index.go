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
	keyCopy     = "COPY" // not in the original SCR: further copies of a dataset, which exist only in generations A and B
)

const (
	indexVersionAB = 1
	indexVersionC  = 2
)

// timeLayout is the layout of times in the index: local time without a zone.
const timeLayout = "2006-01-02T15:04:05"

// maxIndexEntries is the maximum number of entries in an index file.
const maxIndexEntries = 1 << 20

// Index is the content of the index: the datasets and their states. In memory it always has the form of generation C. Unknown
// entries are kept. Times are rounded to whole seconds.
type Index struct {
	Tree *kvtree.Tree
	From Generation // generation of the file that was read; 0 if there was no file

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
	case version <= indexVersionAB: // version 0 means that the key is missing
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
	for _, e := range entries { // correct the names that are missing or that refer to another dataset
		if !e.Copy && t.GetKV(keyName, e.Name).GetKVInt(keyDset, e.ID) == nil {
			t.SetKV(keyName, e.Name).Value(keyDset).SetInt(e.ID)
		}
	}
	return x, nil
}

// Len returns the number of datasets.
func (x *Index) Len() int { return x.Tree.Get(keyDset).Len() }

// Entry returns the dataset with this name.
func (x *Index) Entry(name string) (Entry, bool) {
	id, ok := x.ID(name)
	if !ok {
		return Entry{}, false
	}
	e, err := x.entry(id, x.entryTree(id), false)
	e.Current = e.Name == x.Current()
	return e, err == nil && e.Name == name
}

// ID returns the number of the dataset with this name.
func (x *Index) ID(name string) (int, bool) {
	id, err := x.Tree.GetKV(keyName, name).Value(keyDset).Int()
	return id, err == nil && x.entryTree(id) != nil
}

// LastID returns the highest dataset number, or 0 if the index is empty. The next dataset must get a higher number.
func (x *Index) LastID() int {
	last := 0
	for _, e := range x.Entries() {
		last = max(last, e.ID)
	}
	return last
}

// LastCkpt returns the highest checkpoint number, or 0 if there is no checkpoint.
func (x *Index) LastCkpt() int {
	last := 0
	for _, e := range x.Entries() {
		last = max(last, e.Dataset.Ckpt)
	}
	return last
}

func (x *Index) entryTree(id int) *kvtree.Tree { return x.Tree.Get(keyDset).Get(strconv.Itoa(id)) }

// Add adds a dataset to the index. If the dataset is already listed, Add replaces its record and keeps its times. The error is
// ErrExist if another dataset has the same name, or if the index has another name for the number. Before the first byte of a
// dataset is written, it must be added with complete false.
func (x *Index) Add(ds Dataset, complete bool) error {
	if err := checkID(ds.ID); err != nil {
		return err
	}
	if err := checkName(ds.Name); err != nil {
		return err
	}
	if id, ok := x.ID(ds.Name); ok && id != ds.ID {
		return fmt.Errorf("%q is the name of dataset %d, want dataset %d: %w", ds.Name, id, ds.ID, fault.ErrExist)
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

// Remove removes a dataset from the index. If the dataset was current, the next older restartable dataset becomes current.
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

// MarkFlushed records the time at which a dataset was flushed.
func (x *Index) MarkFlushed(name string, at time.Time) error {
	return x.mark(name, keyFlushed, at, false)
}

// MarkFetched adds the time at which a fetch of the dataset began.
func (x *Index) MarkFetched(name string, at time.Time) error {
	return x.mark(name, keyFetched, at, true)
}

// MarkFailed records the time at which a dataset proved unusable. Newest and Candidates skip such a dataset.
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

// Current returns the name of the dataset to restart from, or "" if none is set.
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

// Newest returns the newest checkpoint that is complete, has not failed, and has a number below limit. If limit is 0, all
// numbers are allowed.
func (x *Index) Newest(limit int) (Entry, bool) {
	for _, e := range x.Entries() {
		if e.Restartable() && (limit == 0 || e.ID < limit) {
			return e, true
		}
	}
	return Entry{}, false
}

// Candidates returns the checkpoints to restart from, in the order in which to try them. It begins with the current checkpoint,
// followed by older ones, newest first. Newer checkpoints are left out, because a program that sets the current checkpoint
// gives up all newer ones. If no checkpoint is current, Candidates returns all, newest first. Incomplete and failed checkpoints
// are always left out.
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
