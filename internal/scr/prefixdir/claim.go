package prefixdir

import (
	"context"
	"fmt"
	"path"
	"slices"

	"blobio/internal/base/fault"
)

// Claims maps files of the prefix directory to the complete datasets that own them. A Claims is made for one dataset that is
// about to be written.
//
// The dataset must not overwrite files of output datasets, or of datasets with a higher number (ErrExist). It may overwrite files
// of an older checkpoint, because some programs use the same file names in each checkpoint. Before the first byte changes, the
// summary and the index durably mark the older checkpoint as incomplete. They are marked when the new dataset is whole (see
// Hidden). An older dataset with the same name is always replaced.
type Claims struct {
	dir    *Dir
	ds     Dataset
	owners map[string][]Entry // by file name, relative to the prefix directory
}

// Owned reports whether a file, named as in File.Path, belongs to a complete dataset. It returns an error if the file belongs to
// a whole dataset whose files still have hidden names, because those hidden files must not be overwritten.
func (c *Claims) Owned(name string) (bool, error) {
	for _, e := range c.owners[path.Clean(name)] {
		if !e.Complete {
			return false, fmt.Errorf("%s is reserved for the complete dataset %d %.80q, whose files are not renamed yet: %w", name, e.ID, e.Name, fault.ErrExist)
		}
	}
	return len(c.owners[path.Clean(name)]) > 0, nil
}

// Claims reads the maps of the datasets that the index lists as complete. ds is the dataset to be written.
func (d *Dir) Claims(ds Dataset) (*Claims, error) {
	c := &Claims{dir: d, ds: ds, owners: map[string][]Entry{}}
	x, _, _, err := d.Index.Load()
	if err != nil {
		return nil, err
	}
	for _, e := range x.Entries() {
		if e.ID == ds.ID || !e.Complete {
			continue
		}
		files, err := d.Datasets.filesOf(e)
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			c.owners[name] = append(c.owners[name], e)
		}
	}
	return c, nil
}

// ClaimsAndWaiting is like Claims, but also includes whole datasets whose files still have hidden names.
func (d *Dir) ClaimsAndWaiting(ds Dataset) (*Claims, error) {
	c, err := d.Claims(ds)
	if err != nil {
		return nil, err
	}
	found, err := d.Datasets.Survey()
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if f.Err != nil || !f.Summary.Renames || f.Summary.Dropped || f.ID == ds.ID {
			continue
		}
		files, err := d.Datasets.pathsOf(f.Place)
		if err != nil && !lost(err) {
			return nil, err
		}
		for _, name := range files {
			c.owners[name] = append(c.owners[name], Entry{ID: f.ID, Name: f.Summary.Dataset.Name})
		}
	}
	return c, nil
}

// Check returns an error that wraps ErrExist if one of the files must not be overwritten. Files are named as in File.Path.
func (c *Claims) Check(files ...string) error {
	for _, name := range files {
		for _, e := range c.owners[path.Clean(name)] {
			switch {
			case e.Name == c.ds.Name && e.ID < c.ds.ID:
			case e.Dataset.Output:
				return fmt.Errorf("%s belongs to the output dataset %d %.80q and cannot be overwritten: %w", name, e.ID, e.Name, fault.ErrExist)
			case e.ID > c.ds.ID:
				return fmt.Errorf("%s belongs to the newer dataset %d %.80q and cannot be overwritten: %w", name, e.ID, e.Name, fault.ErrExist)
			case e.Copy:
				return fmt.Errorf("%s belongs to %.80q, a copy of dataset %d, and cannot be overwritten: %w", name, e.Name, e.ID, fault.ErrExist)
			}
		}
	}
	return nil
}

// Claim marks the datasets that own the files as incomplete, in all summaries and in the index. It returns these datasets. The
// caller must call Claim before it overwrites existing files.
func (c *Claims) Claim(ctx context.Context, files ...string) ([]Entry, error) {
	if err := c.Check(files...); err != nil {
		return nil, err
	}
	var lost []Entry
	for _, name := range files {
		for _, e := range c.owners[path.Clean(name)] {
			if !slices.ContainsFunc(lost, func(l Entry) bool { return l.ID == e.ID }) {
				lost = append(lost, e)
			}
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	for _, e := range lost {
		if err := c.dir.Datasets.markIncomplete(e); err != nil {
			return nil, err
		}
	}
	for name, all := range c.owners {
		c.owners[name] = slices.DeleteFunc(all, func(e Entry) bool {
			return slices.ContainsFunc(lost, func(l Entry) bool { return l.ID == e.ID })
		})
	}
	return lost, c.dir.demote(ctx)
}

// demote marks datasets as incomplete in the index if their summaries mark them as incomplete.
func (d *Dir) demote(ctx context.Context) error {
	return d.Index.Update(ctx, func(x *Index) error {
		for _, e := range x.Entries() {
			if !e.Complete || e.Copy {
				continue
			}
			p, err := d.Datasets.Locate(e)
			if err != nil {
				continue // later readers get the error
			}
			if s, err := d.Datasets.ReadSummary(p); err == nil && !s.Complete {
				if err := x.SetComplete(e.Name, false); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
