package salvage

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"sync"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
)

// claims holds the prefixdir.Claims of a dataset. They are read when they are first needed.
type claims struct {
	ds record.Dataset
	mu sync.Mutex
	c  *prefixdir.Claims
}

// begin finishes interrupted installations and drops the claims, so that the claims are read again.
func (p *target) begin(ctx context.Context, ds record.Dataset) error {
	if err := p.dir.FinishInstalls(ctx); err != nil {
		return err
	}
	ds.ID = p.id
	p.claims = &claims{ds: ds}
	return nil
}

// know stores the record of the dataset. The record is needed because an older dataset with the same name may be replaced.
func (c *claims) know(ds record.Dataset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ds, c.c = ds, nil
}

// owned reports whether a file belongs to another complete dataset. rel is relative to the prefix directory.
func (p target) owned(rel string) (bool, error) {
	c, err := p.claimed()
	if err != nil {
		return false, err
	}
	return c.Owned(rel)
}

func (p target) claimed() (*prefixdir.Claims, error) {
	p.claims.mu.Lock()
	defer p.claims.mu.Unlock()
	if p.claims.c == nil {
		c, err := p.dir.ClaimsAndWaiting(p.claims.ds)
		if err != nil {
			return nil, err
		}
		p.claims.c = c
	}
	return p.claims.c, nil
}

// spot returns the name under which to write a file. If another complete dataset owns a file with this name, spot returns the
// hidden name (see prefixdir.Hidden). If the other dataset's file must not be overwritten, the error wraps ErrExist.
func (p target) spot(rel string) (string, error) {
	c, err := p.claimed()
	if err != nil {
		return "", err
	}
	if err := c.Check(rel); err != nil {
		return "", err
	}
	owned, err := c.Owned(rel)
	if owned {
		return prefixdir.Hidden(p.file(rel)), err
	}
	return p.file(rel), err
}

// locate returns the current or future name of a file of the dataset. If another dataset may have used the name, the checksum
// decides whether the file belongs to this dataset. This is the case for hidden names, and for plain names that another complete
// dataset has. Plain names occur with bypass and after a scavenge by the original SCR. foreign means that a file with the hidden
// name at exists but is not known to belong to this dataset.
func (sc *scanner) locate(ctx context.Context, rel string, want expect) (at string, foreign bool, err error) {
	plain := sc.target.file(rel)
	hidden := prefixdir.Hidden(plain)
	owned, err := sc.owned(rel)
	if err != nil {
		return "", false, err
	}
	there := func(name string) bool {
		_, err := vfs.Lstat(sc.fs, name)
		return err == nil || !errors.Is(err, fs.ErrNotExist) // on other errors the reader of the file gets the error
	}
	ours := func(name string) (bool, error) {
		st, err := vfs.Lstat(sc.fs, name)
		if err != nil || !st.Mode().IsRegular() || st.Size() != want.size || !want.hasCRC {
			return false, nil
		}
		good, _, err := sc.same(ctx, name, want)
		return good, err
	}
	switch {
	case owned && there(hidden):
		return hidden, !want.hasCRC && !sc.made[hidden], nil
	case owned:
		if good, err := ours(plain); good || err != nil {
			return plain, false, err
		}
		return hidden, false, nil
	case there(plain):
		return plain, false, nil
	}
	if good, err := ours(hidden); good || err != nil {
		return hidden, false, err
	}
	return plain, false, nil
}

// install gives the files of a whole dataset their final names and lists the dataset as complete. It replaces an older dataset
// with the same name, and datasets whose files it overwrites. The map must exist.
func (p target) install(ctx context.Context, o Options, ds record.Dataset, names, hidden []string) error {
	slices.Sort(names)
	slices.Sort(hidden)
	// Hidden files of other datasets must not get final names of this dataset.
	dirs := map[string]bool{}
	for _, name := range names {
		if _, is := slices.BinarySearch(hidden, name); is {
			continue
		}
		err := p.fs.Remove(prefixdir.Hidden(p.file(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			dirs[path.Dir(p.file(name))] = true
		}
	}
	for dir := range dirs {
		if err := p.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	lost, err := p.dir.Install(ctx, ds, o.now(), names, hidden)
	for _, e := range lost {
		if p.dir.Logger != nil {
			p.dir.Logger.Warn("salvage: a dataset of the prefix directory is now incomplete, because another dataset has files with the same names",
				"dataset", e.Name, "id", e.ID, "new", p.id)
		}
	}
	return err
}

// replaces reports whether an older dataset has the same name.
func (p target) replaces(x *prefixdir.Index, ds record.Dataset) bool {
	e, ok := x.Entry(ds.Name)
	return ok && e.ID < ds.ID
}
