package prefixdir

import (
	"cmp"
	"fmt"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Location is a set of places where a dataset is stored.
type Location uint8

// The locations in flush.scr.
const (
	Cache        Location = 1 << iota // in the caches of the nodes
	PFS                               // complete in the prefix directory
	Flushing                          // being copied to the prefix directory in the background
	SyncFlushing                      // being copied to the prefix directory while the application waits
)

var locationNames = []string{"CACHE", "PFS", "FLUSHING", "SYNC_FLUSHING"}

// Keys of flush.scr.
const (
	keyDatasets = "DATASET" // DSET in generation A
	keyLocation = "LOCATION"
	keyFlagCkpt = "CKPT"
	keyOutput   = "OUTPUT"
	keyDesc     = "DSETDESC"
)

// Flush is the content of the flush file. It records where the datasets of this allocation are stored. Unknown entries are kept.
type Flush struct {
	Tree *kvtree.Tree
	From Generation // generation of the file that was read; GenC also for generation B, whose flush file has the same form
	key  string     // DATASET or DSET
	file string
}

// FlushEntry is a dataset in the flush file.
type FlushEntry struct {
	ID         int
	Name       string // in generation A the name of the dataset folder
	Location   Location
	Checkpoint bool
	Output     bool
	Dataset    Dataset // ID 0 if the file has no record of the dataset (generation A)
}

// FlushFile is the flush file.
type FlushFile struct{ TreeFile }

// Read reads a flush file of any generation. If the file is missing, Read returns an empty Flush.
func (file *FlushFile) Read() (*Flush, error) {
	t, err := file.TreeFile.Read()
	if err != nil {
		return nil, err
	}
	f := &Flush{Tree: t, From: GenC, key: keyDatasets, file: file.path()}
	if t.Has(keyDset) && !t.Has(keyDatasets) {
		f.From = GenA
		f.Tree.Set(keyDatasets, f.Tree.Extract(keyDset))
	}
	if _, err := f.entries(); err != nil {
		return nil, err
	}
	return f, nil
}

// Load is like Read, but treats a damaged file as empty and keeps it as flush.scr.damaged. Nothing is lost, because the caches
// and the index hold the same information.
func (file *FlushFile) Load() (*Flush, error) {
	f, err := file.Read()
	if err == nil {
		return f, nil
	}
	if !fault.IsDamage(err) {
		return nil, err
	}
	if err := file.keepDamaged(err); err != nil {
		return nil, err
	}
	return file.Read()
}

// Write replaces the flush file.
func (file *FlushFile) Write(f *Flush) error { return file.TreeFile.Write(f.Tree) }

// Entries returns all datasets, newest first.
func (f *Flush) Entries() []FlushEntry {
	all, err := f.entries()
	if err != nil {
		return nil // happens only if other code changed Tree
	}
	return all
}

func (f *Flush) entries() ([]FlushEntry, error) {
	var all []FlushEntry
	for key, t := range f.Tree.Get(f.key).All() {
		id, ok := record.Number(key)
		if !ok || id < 1 {
			return nil, fault.In(f.file, f.key, fault.ErrCorrupt, "%.40q, want the number of a dataset", key)
		}
		r := record.Fields{Tree: t, File: f.file, Path: f.key + "/" + key}
		e := FlushEntry{ID: id, Name: r.Str(keyName), Checkpoint: r.Bool(keyFlagCkpt), Output: r.Bool(keyOutput)}
		if e.Name == "" {
			e.Name = r.Str(keyDir)
		}
		for i, name := range locationNames {
			if t.GetKV(keyLocation, name) != nil {
				e.Location |= 1 << i
			}
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
		if desc := t.Get(keyDesc); desc != nil {
			var err error
			if e.Dataset, err = record.ParseDataset(desc, f.file); err != nil {
				return nil, err
			}
		}
		if f.From == GenA && !t.Has(keyFlagCkpt) {
			e.Checkpoint = true // generation A: all datasets are checkpoints
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b FlushEntry) int { return cmp.Compare(b.ID, a.ID) })
	return all, nil
}

// Entry returns the entry of a dataset.
func (f *Flush) Entry(id int) (FlushEntry, bool) {
	for _, e := range f.Entries() {
		if e.ID == id {
			return e, true
		}
	}
	return FlushEntry{}, false
}

// Put adds a dataset, or replaces its entry.
func (f *Flush) Put(ds Dataset, at Location) error {
	if err := checkID(ds.ID); err != nil {
		return err
	}
	t := f.Tree.SetKVInt(f.key, ds.ID)
	t.Value(keyName).SetStr(ds.Name)
	putLocation(t, at)
	setPresent(t, keyFlagCkpt, ds.Checkpoint)
	setPresent(t, keyOutput, ds.Output)
	t.Set(keyDesc, ds.Tree())
	return nil
}

// Add adds locations to an existing dataset.
func (f *Flush) Add(id int, at Location) error {
	return f.move(id, func(l Location) Location { return l | at })
}

// Clear removes locations of a dataset. A dataset without locations is removed from the flush file.
func (f *Flush) Clear(id int, at Location) error {
	return f.move(id, func(l Location) Location { return l &^ at })
}

func (f *Flush) move(id int, change func(Location) Location) error {
	e, ok := f.Entry(id)
	if !ok {
		return fmt.Errorf("dataset %d is not in the flush file: %w", id, fault.ErrMissing)
	}
	to := change(e.Location)
	if to == 0 {
		f.Remove(id)
	} else if to != e.Location {
		putLocation(f.Tree.GetKVInt(f.key, id), to)
	}
	return nil
}

// Remove removes a dataset.
func (f *Flush) Remove(id int) { f.Tree.UnsetKVInt(f.key, id) }

// Is reports whether a dataset is stored at all these locations.
func (f *Flush) Is(id int, at Location) bool {
	e, ok := f.Entry(id)
	return ok && e.Location&at == at
}

// NeedFlush reports whether a dataset is in the caches but not yet complete in the prefix directory.
func (f *Flush) NeedFlush(id int) bool {
	e, ok := f.Entry(id)
	return ok && e.Location&Cache != 0 && e.Location&PFS == 0
}

// putLocation sets the location keys under t and keeps unknown keys.
func putLocation(t *kvtree.Tree, at Location) {
	for i, name := range locationNames {
		if at&(1<<i) != 0 {
			t.SetKV(keyLocation, name)
		} else {
			t.UnsetKV(keyLocation, name)
		}
	}
}

// setPresent sets a flag. A false flag is stored by omitting its key, as in the original SCR.
func setPresent(t *kvtree.Tree, key string, v bool) {
	if t.Unset(key); v {
		t.Value(key).SetInt(1)
	}
}

// Forget removes a dataset from the flush file, before the dataset is deleted in the prefix directory. Otherwise the flush file
// would still list the dataset there. The cached copy need not be flushed again. If the flush file cannot be read, Forget does
// nothing, because no reader would trust the file.
func (file *FlushFile) Forget(id int) error {
	f, err := file.Read()
	if err != nil {
		return nil
	}
	if _, ok := f.Entry(id); !ok {
		return nil
	}
	f.Remove(id)
	return file.Write(f)
}
