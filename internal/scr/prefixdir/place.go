package prefixdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Place says where the parts of a dataset are.
type Place struct {
	From Generation // GenC also for B, which differs in names only
	ID   int
	Meta string // the folder that holds the summary and the map
	Data string // the folder that the paths in the map start from
}

// Place returns where a dataset of generations B and C has its parts.
func (d *Dir) Place(id int) Place {
	return Place{From: GenC, ID: id, Meta: d.DatasetDir(id), Data: d.Path}
}

// Locate finds the dataset of an entry of the index: by its number where generations B and C have it, else in the
// folder of its name [A]. It is an error that wraps ErrMissing if neither has a summary.
func (d *Dir) Locate(e Entry) (Place, error) {
	places := []Place{d.Place(e.ID)}
	if checkName(e.Name) == nil {
		places = append(places, d.placeA(e.Name, e.ID))
	}
	for _, p := range places {
		switch _, err := d.fs().Stat(filepath.Join(p.Meta, summaryName)); {
		case err == nil:
			return p, nil
		case !errors.Is(err, fs.ErrNotExist):
			return Place{}, err
		}
	}
	return Place{}, fmt.Errorf("dataset %d %.80q has no summary: %w", e.ID, e.Name, fault.ErrMissing)
}

func (d *Dir) placeA(name string, id int) Place {
	dir := filepath.Join(d.Path, filepath.FromSlash(name))
	return Place{From: GenA, ID: id, Meta: filepath.Join(dir, MetaDir), Data: dir}
}

// Found is a dataset that Survey found by its summary.
type Found struct {
	Place
	Summary *Summary  // nil if Err is set
	Written time.Time // the time of the summary file
	Err     error     // why the summary cannot be used: the dataset was not finished, or is damaged
}

// State says by its summary, of which there is one, whether the dataset is "whole" or "not complete".
func (f Found) State() string {
	if f.Summary.Complete {
		return "whole"
	}
	if f.Summary.Renames {
		return "whole under hidden names (the next run, or scr index --rebuild, renames its files)"
	}
	return "not complete"
}

// Survey looks for datasets without the help of the index: each folder .scr/scr.dataset.<id> [B,C], and the summary in
// each folder of the prefix directory [A]. They are ordered by number. A folder without a summary is a dataset that was
// not finished, with an Err that wraps ErrMissing.
func (d *Dir) Survey() ([]Found, error) {
	var all []Found
	look := func(p Place, name string) {
		f := Found{Place: p}
		file := filepath.Join(p.Meta, summaryName)
		st, err := d.fs().Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if p.From == GenA {
				return
			}
			f.Err = fmt.Errorf("%s: %w", file, fault.ErrMissing)
		case err != nil:
			f.Err = err
		default:
			f.Written = st.ModTime()
			f.Summary, f.Err = d.readSummary(p, name)
		}
		if f.Summary != nil {
			f.ID = f.Summary.Dataset.ID
			if f.Err == nil && p.ID != 0 && p.ID != f.ID {
				f.Err = fault.In(file, "DSET/ID", fault.ErrCorrupt, "%d, want %d", f.ID, p.ID)
				f.ID = p.ID
			}
		}
		all = append(all, f)
	}
	list, err := d.fs().ReadDir(d.File(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if id, ok := record.DatasetID(e.Name()); ok && e.IsDir() {
			look(d.Place(id), "")
		}
	}
	list, err = d.fs().ReadDir(d.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if e.IsDir() && e.Name() != MetaDir {
			look(d.placeA(e.Name(), 0), e.Name())
		}
	}
	slices.SortStableFunc(all, func(a, b Found) int { return a.ID - b.ID })
	return all, nil
}

// LastID is the highest number that any dataset has or had as far as can be seen, in the index or by its folder. A new
// one must have a higher one, whatever became of the index. x may be nil.
func (d *Dir) LastID(x *Index) (int, error) {
	last := 0
	if x != nil {
		last = x.LastID()
	}
	found, err := d.Survey()
	for _, f := range found {
		last = max(last, f.ID)
	}
	return last, err
}

// Adopt adds a dataset that was found to the index, with the time of its summary as that of its flush. One that
// was dropped (Summary.Dropped), or has no usable summary, is ErrUsage.
func (x *Index) Adopt(f Found) error {
	if f.Summary == nil || f.Err != nil || f.Summary.Dropped {
		return fault.Usage("dataset %d has no summary, or was dropped (%v)", f.ID, f.Err)
	}
	ds := f.Summary.Dataset
	if err := x.Add(ds, f.Summary.Complete); err != nil {
		return err
	}
	if e, _ := x.Entry(ds.Name); e.Flushed.IsZero() {
		return x.MarkFlushed(ds.Name, f.Written)
	}
	return nil
}

// Lost returns what Survey found that the index does not tell: datasets that are not in it, and those that are not
// complete there though their summary says so. Dropped ones, and those without a usable summary, are left out.
func (x *Index) Lost(found []Found) []Found {
	var all []Found
	for _, f := range found {
		if f.Err != nil || f.Summary.Dropped {
			continue
		}
		if e, ok := x.Entry(f.Summary.Dataset.Name); !ok || !e.Complete && f.Summary.Complete {
			all = append(all, f)
		}
	}
	return all
}

// Rebuild makes an index of the summaries: what Survey found and can be used. The current dataset is the newest from
// which a run may start. That datasets failed, and when they were fetched, is lost.
func (d *Dir) Rebuild() (*Index, []Found, error) {
	found, err := d.Survey()
	if err != nil {
		return nil, nil, err
	}
	x := d.NewIndex()
	for i, f := range found {
		if f.Err != nil || f.Summary.Dropped {
			continue
		}
		if err := x.Adopt(f); err != nil { // a copy of a dataset under another name
			found[i].Err = err
		}
	}
	if e, ok := x.Newest(0); ok {
		err = x.SetCurrent(e.Name)
	}
	return x, found, err
}

// Summary is the content of a summary file.
type Summary struct {
	Tree     *kvtree.Tree
	Version  int // 6; 5 is read
	Complete bool
	Dataset  Dataset
	Dropped  bool // ours: Drop took the dataset out of the index, and it is not to come back by itself
	Renames  bool // ours: it is whole, but files may have their hidden names; see FinishInstalls
}

// Keys of summary.scr beside those of the index.
const (
	keyCkpt    = "CKPT" // version 5
	keyDropped = "DROPPED"
	keyRenames = "RENAMES"
)

const (
	summaryVersion = 6
	summaryOld     = 5
)

// ReadSummary reads the summary of a dataset.
func (d *Dir) ReadSummary(p Place) (*Summary, error) {
	return d.readSummary(p, filepath.Base(p.Data))
}

// readSummary reads a summary; name is that of the dataset where the file has none.
func (d *Dir) readSummary(p Place, name string) (*Summary, error) {
	file := filepath.Join(p.Meta, summaryName)
	t, err := kvtree.ReadFile(d.fs(), file, nil)
	if err != nil {
		return nil, err
	}
	f := record.Fields{Tree: t, File: file}
	s := &Summary{Tree: t, Version: f.Int(keyVersion, 0), Complete: f.Bool(keyComplete), Dropped: f.Bool(keyDropped), Renames: f.Bool(keyRenames)}
	if err := f.Err(); err != nil {
		return nil, err
	}
	switch s.Version {
	case summaryVersion:
		if s.Dataset, err = record.ParseDataset(t.Get(keyDset), file); err != nil {
			return nil, err
		}
	case summaryOld:
		m, err := mapOf5(t, file)
		if err != nil {
			return nil, err
		}
		id := f.Int(keyCkpt, 0)
		if err := f.Err(); err != nil {
			return nil, err
		}
		s.Dataset = Dataset{ID: id, Name: name, Ckpt: id, Checkpoint: true, Complete: s.Complete}
		s.Dataset.Files, s.Dataset.Size = m.Totals()
	default:
		return nil, fault.In(file, keyVersion, fault.ErrVersion, "%d, want %d or %d", s.Version, summaryOld, summaryVersion)
	}
	if checkID(s.Dataset.ID) != nil {
		return nil, fault.In(file, "DSET/ID", fault.ErrCorrupt, "%d, want the number of a dataset", s.Dataset.ID)
	}
	if p.From == GenA {
		s.Dataset.Name = name // the folder may have been renamed
	}
	if s.Dataset.Name == "" {
		s.Dataset.Name = record.DefaultName(s.Dataset.ID)
	}
	return s, nil
}

// WriteSummary writes the summary of a dataset. It is the last file of a flush: all others are durable before.
func (d *Dir) WriteSummary(ds Dataset, complete bool) error {
	return d.writeSummary(ds, complete, false)
}

func (d *Dir) writeSummary(ds Dataset, complete, renames bool) error {
	if err := checkName(ds.Name); err != nil {
		return err
	}
	if err := d.CreateDataset(ds.ID); err != nil {
		return err
	}
	t := kvtree.New()
	t.SetInt(keyVersion, summaryVersion)
	record.SetBool(t, keyComplete, complete)
	if renames {
		t.SetInt(keyRenames, 1)
	}
	t.Set(keyDset, ds.Tree())
	return kvtree.WriteFile(d.fs(), filepath.Join(d.DatasetDir(ds.ID), summaryName), t)
}

// RemoveSummary removes the summary of a dataset, durably: from then on it is not finished.
func (d *Dir) RemoveSummary(p Place) error {
	err := d.fs().Remove(filepath.Join(p.Meta, summaryName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.fs().SyncDir(p.Meta)
}
