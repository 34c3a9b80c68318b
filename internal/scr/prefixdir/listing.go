package prefixdir

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// Find finds a dataset by its name, or else by its number. The error wraps ErrMissing if there is no such dataset.
func (x *Index) Find(word string) (Entry, error) {
	if e, ok := x.Entry(word); ok {
		return e, nil
	}
	if id, err := strconv.Atoi(word); err == nil {
		for _, e := range x.Entries() {
			if e.ID == id {
				return e, nil
			}
		}
	}
	return Entry{}, missing(word)
}

// Drop removes a dataset from the index but keeps its files. Drop marks the dataset in its summary, so that a later Rebuild
// does not list it again.
func (d *Dir) Drop(ctx context.Context, name string) error {
	return d.Index.Update(ctx, func(x *Index) error {
		e, ok := x.Entry(name)
		if !ok {
			return missing(name)
		}
		if err := d.demoteOverwritten(x); err != nil {
			return err
		}
		return d.drop(x, e)
	})
}

// DropAfter drops all datasets with a higher number than the dataset word, which is a name or a number. They are removed from
// the index in one step. DropAfter returns the dataset word and the number of dropped datasets.
func (d *Dir) DropAfter(ctx context.Context, word string) (of Entry, n int, err error) {
	err = d.Index.Update(ctx, func(x *Index) error {
		if of, err = x.Find(word); err != nil {
			return err
		}
		if err = d.demoteOverwritten(x); err != nil {
			return err
		}
		n = 0
		for _, e := range x.Entries() { // newest first, so that an index that is rebuilt after a crash has no gap
			if e.ID <= of.ID {
				continue
			}
			if err := d.drop(x, e); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return of, n, err
}

func (d *Dir) drop(x *Index, e Entry) error {
	if p, err := d.Datasets.Locate(e); err == nil {
		if err := d.Datasets.markDropped(p); err != nil {
			return err
		}
	}
	return x.Remove(e.Name)
}

// Add lists a dropped or lost dataset again. It reads the summary of the dataset, which word gives by number or name, and
// clears the mark that Drop made. The error is ErrMissing if there is no summary. f.Err is set if the dataset is unfinished or
// damaged.
func (d *Dir) Add(ctx context.Context, word string) (f Found, err error) {
	if err := d.FinishInstalls(ctx); err != nil {
		return f, err
	}
	err = d.Index.Update(ctx, func(x *Index) error {
		all, err := d.Datasets.Survey()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(f Found) bool {
			return strconv.Itoa(f.ID) == word || f.Summary != nil && f.Summary.Dataset.Name == word
		})
		if i < 0 {
			return fmt.Errorf("%s has no summary of dataset %.80q: %w", d.Path, word, fault.ErrMissing)
		}
		if f = all[i]; f.Err != nil {
			return f.Err
		}
		if f.Summary.Dropped { // the other fields of the summary are kept
			f.Summary.Tree.Unset(keyDropped)
			if err := kvtree.WriteFile(d.fs(), filepath.Join(f.Meta, summaryName), f.Summary.Tree); err != nil {
				return err
			}
			f.Summary.Dropped = false
		}
		return x.Adopt(f)
	})
	return f, err
}

// Relist lists all datasets that the index has lost. It returns the number of datasets that the index has afterwards.
func (d *Dir) Relist(ctx context.Context) (n int, err error) {
	if err := d.FinishInstalls(ctx); err != nil {
		return 0, err
	}
	err = d.Index.Update(ctx, func(x *Index) error {
		found, err := d.Datasets.Survey()
		if err != nil {
			return err
		}
		for _, f := range x.Lost(found) {
			if err := x.Adopt(f); err != nil {
				return err
			}
		}
		n = x.Len()
		return d.demoteOverwritten(x)
	})
	return n, err
}

// Adopt adds a found dataset to the index. The time of its summary becomes its flush time. The error is ErrUsage if the dataset
// was dropped (Summary.Dropped) or has no usable summary.
func (x *Index) Adopt(f Found) error {
	if f.Summary == nil || f.Err != nil {
		return fault.Usage("dataset %d has no usable summary: %v", f.ID, f.Err)
	}
	if f.Summary.Dropped {
		return fault.Usage("dataset %d was dropped", f.ID)
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

// Lost returns the found datasets that are missing in the index, and those that the index lists as incomplete although their
// summaries are complete. It leaves out dropped datasets, and datasets without a usable summary.
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
