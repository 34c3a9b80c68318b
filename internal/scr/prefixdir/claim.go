package prefixdir

import (
	"context"
	"fmt"
	"path"
	"slices"

	"blobio/internal/base/fault"
)

// Claims knows to which complete datasets of the index the files of the prefix directory belong, for a dataset that is about to
// be written there.
//
// The files of a complete dataset are not overwritten in silence. Files of output, and of datasets with a higher number,
// are not overwritten at all (ErrExist). A checkpoint gives its files to a later dataset that has the same names, as
// programs want it that write the same files each time: but before the first byte changes, its summary says durably that
// it is not complete, and so does the index. That is when all of the new one is there (see Hidden). An older dataset of the name of the new one is replaced, whatever it is.
type Claims struct {
	dir    *Dir
	ds     Dataset
	owners map[string][]Entry // by name of a file, from the prefix directory on
}

// Owned reports whether a file, named as in File.Path, belongs to a complete dataset. One that is whole but has hidden names yet is an error:
// its hidden files must not be written to.
func (c *Claims) Owned(name string) (bool, error) {
	for _, e := range c.owners[path.Clean(name)] {
		if !e.Complete {
			return false, fmt.Errorf("%s is reserved for dataset %d %.80q, which is complete, but its files are not renamed yet: %w", name, e.ID, e.Name, fault.ErrExist)
		}
	}
	return len(c.owners[path.Clean(name)]) > 0, nil
}

// Claims reads the maps of the datasets that the index lists as complete; ds is the one that is to be written.
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

// ClaimsAndWaiting is Claims that knows of datasets with hidden names, too.
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

// Check is an error that wraps ErrExist if one of the files, named as in File.Path, must not be written.
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

// Claim is called before files that are there already are written. The datasets that they belong to are not complete any more
// when it returns, as all summaries and the index say. The datasets are returned.
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

// demote makes the index say of datasets that they are not complete if their summaries do.
func (d *Dir) demote(ctx context.Context) error {
	return d.Index.Update(ctx, func(x *Index) error {
		for _, e := range x.Entries() {
			if !e.Complete || e.Copy {
				continue
			}
			p, err := d.Datasets.Locate(e)
			if err != nil {
				continue // the next reader returns the error
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
