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

// Find finds a dataset by its name, else by its number. The error wraps ErrMissing if there is none.
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

// Drop removes a dataset from the index but keeps its files. The summary records this, so that a later Rebuild does not list it
// again.
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

// DropAfter drops all datasets with a higher number than the dataset that word names, as for Find. They leave the index in one
// step. DropAfter returns the named dataset and the number of dropped ones.
func (d *Dir) DropAfter(ctx context.Context, word string) (of Entry, n int, err error) {
	err = d.Index.Update(ctx, func(x *Index) error {
		if of, err = x.Find(word); err != nil {
			return err
		}
		if err = d.demoteOverwritten(x); err != nil {
			return err
		}
		n = 0
		for _, e := range x.Entries() { // newest first, so that an index rebuilt after a crash has no gap
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

// Add lists a dataset again from its summary, found by number or name, and clears the mark of Drop. The error is ErrMissing if
// there is no summary. For an unfinished or damaged dataset, f.Err is set.
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
		if f.Summary.Dropped { // the other fields of the summary stay
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

// Relist lists all datasets that the index has lost, and returns how many the index then has.
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

// Adopt adds a found dataset to the index, with the time of its summary as flush time. The error is ErrUsage if the dataset was
// dropped (Summary.Dropped) or has no usable summary.
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

// Lost returns the found datasets that the index lacks, or lists as incomplete although their summary says complete. It omits
// dropped datasets and those without a usable summary.
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
