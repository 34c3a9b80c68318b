package prefixdir

import (
	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
	"errors"
	"io/fs"
	"path/filepath"
)

// Summary is the content of a summary file.
type Summary struct {
	Tree     *kvtree.Tree
	Version  int // 6 when written; 5 can be read
	Complete bool
	Dataset  Dataset
	Dropped  bool // not in the original SCR: Drop removed the dataset from the index, and a rebuild must not list it
	Renames  bool // not in the original SCR: the dataset is whole, but its files may have hidden names; see FinishInstalls
}

// Keys of summary.scr that the index does not have.
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
func (d *Datasets) ReadSummary(p Place) (*Summary, error) {
	return d.readSummary(p, filepath.Base(p.Data))
}

// readSummary reads a summary. If the summary contains no dataset name, the dataset gets name.
func (d *Datasets) readSummary(p Place, name string) (*Summary, error) {
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
		s.Dataset.Name = name // use the folder's name, because the folder may have been renamed
	}
	if s.Dataset.Name == "" {
		s.Dataset.Name = record.DefaultName(s.Dataset.ID)
	}
	return s, nil
}

// WriteSummary writes the summary of a dataset. It is the last step of a flush: all other files must
// already be durable.
func (d *Datasets) WriteSummary(ds Dataset, complete bool) error {
	if err := d.Create(ds.ID); err != nil {
		return err
	}
	return d.writeSummary(ds, complete, false)
}

func (d *Datasets) writeSummary(ds Dataset, complete, renames bool) error {
	if err := checkName(ds.Name); err != nil {
		return err
	}
	t := kvtree.New()
	t.Value(keyVersion).SetInt(summaryVersion)
	record.SetBool(t, keyComplete, complete)
	if renames {
		t.Value(keyRenames).SetInt(1)
	}
	t.Set(keyDset, ds.Tree())
	return kvtree.WriteFile(d.fs(), filepath.Join(d.Dir(ds.ID), summaryName), t)
}

// RemoveSummary durably removes the summary of a dataset. A dataset without summary is unfinished.
func (d *Datasets) RemoveSummary(p Place) error {
	err := d.fs().Remove(filepath.Join(p.Meta, summaryName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.fs().SyncDir(p.Meta)
}

func (d *Datasets) markIncomplete(e Entry) error {
	p, err := d.Locate(e)
	if err != nil {
		return err
	}
	file := filepath.Join(p.Meta, summaryName)
	t, err := kvtree.ReadFile(d.fs(), file, nil)
	if err != nil {
		return err
	}
	record.SetBool(t, keyComplete, false)
	return kvtree.WriteFile(d.fs(), file, t)
}

func (d *Datasets) markDropped(p Place) error {
	file := filepath.Join(p.Meta, summaryName)
	t, err := kvtree.ReadFile(d.fs(), file, nil)
	if err != nil {
		var damage *kvtree.FormatError
		if errors.As(err, &damage) {
			return nil // a dataset without a usable summary is never listed
		}
		return err
	}
	t.Value(keyDropped).SetInt(1)
	return kvtree.WriteFile(d.fs(), file, t)
}
