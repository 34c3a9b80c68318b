package prefixdir

import (
	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Datasets gives access to the metadata of the datasets of a prefix directory. Each dataset has a folder with a summary and a
// map.
type Datasets struct{ *Folder }

// Dir returns the metadata folder of a dataset, <prefix>/.scr/scr.dataset.<id> (generations B and C).
func (d *Datasets) Dir(id int) string { return d.File(record.DefaultName(id)) }

// Create makes the metadata folder of a dataset, durably.
func (d *Datasets) Create(id int) error {
	_, err := d.create(id)
	return err
}

// create does the work of Create. It also reports whether the folder did not exist before.
func (d *Datasets) create(id int) (fresh bool, err error) {
	if err := checkID(id); err != nil {
		return false, err
	}
	if err := d.Folder.Create(); err != nil {
		return false, err
	}
	err = d.fs().Mkdir(d.Dir(id))
	if errors.Is(err, fs.ErrExist) {
		if d.last.Load() == int64(id) {
			return false, nil
		}
	} else if err != nil {
		return false, err
	} else {
		fresh = true
	}
	if err := d.fs().SyncDir(d.File("")); err != nil {
		return fresh, err
	}
	d.last.Store(int64(id))
	return fresh, nil
}

// Place holds the folders of a dataset.
type Place struct {
	From Generation // GenC also for generation B, whose files differ only in their names
	ID   int
	Meta string // the folder that holds the summary and the map
	Data string // the folder that paths in the map are relative to
}

// Place returns the folders of a dataset of generation B or C.
func (d *Datasets) Place(id int) Place {
	return Place{From: GenC, ID: id, Meta: d.Dir(id), Data: d.Path}
}

// Locate finds the dataset of an index entry. It looks in the folder with the dataset's number (generations B and C), then in the
// folder with its name (generation A). The error wraps ErrMissing if neither folder has a summary.
func (d *Datasets) Locate(e Entry) (Place, error) {
	places := []Place{d.Place(e.ID)}
	if fs.ValidPath(path.Clean(e.Name)) {
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

func (d *Datasets) placeA(name string, id int) Place {
	dir := filepath.Join(d.Path, filepath.FromSlash(name))
	return Place{From: GenA, ID: id, Meta: filepath.Join(dir, MetaDir), Data: dir}
}

// Found is a dataset that Survey found by its summary.
type Found struct {
	Place
	Summary *Summary  // nil if Err is set
	Written time.Time // modification time of the summary file
	Err     error     // why the summary cannot be used: the dataset is unfinished or damaged
}

// State is "whole" or "not complete", according to the summary, which must not be nil.
func (f Found) State() string {
	if f.Summary.Complete {
		return "whole"
	}
	if f.Summary.Renames {
		return "complete, but its files are not renamed yet (the next run, or scr index --rebuild, renames them)"
	}
	return "not complete"
}

// Survey finds datasets without the index and returns them sorted by number. It reads the summary in each folder
// .scr/scr.dataset.<id> (generations B and C) and in each folder of the prefix directory (generation A). If a folder
// scr.dataset.<id> has no summary, the dataset is unfinished, and its Err wraps ErrMissing.
func (d *Datasets) Survey() ([]Found, error) {
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

// LastID returns the highest known dataset number, from the index and the folders. A new dataset must get a higher number, even
// if the index was lost. x may be nil.
func (d *Datasets) LastID(x *Index) (int, error) {
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

// filesOf lists the files of a dataset, relative to the prefix directory and sorted. The list is empty if the metadata are
// damaged or missing, or if the files may still have hidden names.
func (d *Datasets) filesOf(e Entry) ([]string, error) {
	p, err := d.Locate(e)
	var s *Summary
	if err == nil {
		s, err = d.ReadSummary(p)
	}
	if err == nil && (s.Renames || s.Dropped) {
		return nil, nil
	}
	var all []string
	if err == nil {
		all, err = d.pathsOf(p)
	}
	if err != nil && lost(err) {
		return nil, nil
	}
	return all, err
}

// pathsOf lists the files of a map, relative to the prefix directory and sorted.
func (d *Datasets) pathsOf(p Place) ([]string, error) {
	m, err := d.ReadMap(p)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range m.Paths() {
		rel, err := filepath.Rel(d.Path, filepath.Join(p.Data, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		all = append(all, filepath.ToSlash(rel))
	}
	return all, nil
}
