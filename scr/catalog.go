package scr

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"blobio/internal/base/durable"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/salvage"
)

// catalog is the catalogue of the datasets that this node has in its caches.
type catalog struct {
	*job
	levels levels
	remade *cachedir.Catalog // if the one on disk could not be used; first rank of the node
}

// file is the name of the catalogue of this node.
func (cat *catalog) file() string { return path.Join(cat.p.job.Control, cachedir.CatalogName) }

// change changes the catalogue of this node. The first rank of the node calls it; the others return at once.
func (cat *catalog) change(edit func(c *cachedir.Catalog)) error {
	if cat.node.c.Rank() != 0 {
		return nil
	}
	c, err := cachedir.ReadCatalog(cat.fs, cat.file())
	if err != nil && cat.remade != nil {
		c, err = cat.remade, nil // a catalogue that cannot be read is replaced
	}
	if err != nil {
		return err
	}
	edit(c)
	return c.Write(cat.fs, cat.file())
}

// find reads the catalogue of this node. One that is lost, damaged or unreadable is made again from the folders in the
// caches. Folders that it does not know are set aside, for a person to look at, and not used: they may be of
// an older dataset of the same number. The catalogues of the other nodes make up for everything else that was lost. The first rank of the
// node calls it.
func (cat *catalog) find() (*cachedir.Catalog, error) {
	_, serr := cat.fs.Stat(cat.file())
	c, err := cachedir.ReadCatalog(cat.fs, cat.file())
	if err == nil && !errors.Is(serr, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		cat.log.Warn("scr: the catalogue of a node cannot be used", "node", cat.node.name, "err", err)
	}
	var dirs []string
	for _, l := range cat.levels {
		if l.Enabled && !l.shared && cat.ownDevice(l) && !slices.Contains(dirs, l.dir) {
			dirs = append(dirs, l.dir)
		}
	}
	c, unknown, err := cachedir.Rebuild(cat.fs, dirs...)
	if err != nil {
		return nil, err
	}
	old := map[string]bool{} // folders of SCR 1 and 2, which have maps of their own
	if all, err := salvage.Survey(salvage.Node{FS: cat.fs, Catalog: cat.file()}); err == nil || isFormat(err) {
		for _, h := range all {
			old[path.Clean(h.Path)] = old[path.Clean(h.Path)] || h.Old
		}
	}
	for _, dir := range unknown {
		if old[dir] {
			continue
		}
		to, err := cat.setAside(dir)
		if err != nil {
			return nil, err
		}
		cat.log.Warn("scr: a cached dataset that no catalogue lists is set aside; delete the dataset if it is not needed", "node", cat.node.name, "folder", dir, "now", to)
	}
	if c.Len() == 0 && serr != nil && errors.Is(serr, fs.ErrNotExist) {
		return c, nil // a node that is new
	}
	cat.log.Warn("scr: the catalogue of a node is rebuilt from its caches", "node", cat.node.name, "datasets", c.Len())
	cat.remade = c
	return c, c.Write(cat.fs, cat.file())
}

// ownDevice reports whether only ranks of this node have the device of a store: otherwise another node's catalogue may list its datasets.
func (cat *catalog) ownDevice(l *level) bool {
	for r, d := range l.devices {
		if d == l.device && cat.node.names[r] != cat.node.name {
			return false
		}
	}
	return true
}

// setAside gives the folder of a dataset a name under which nobody looks for one.
func (cat *catalog) setAside(dir string) (string, error) {
	for n := 1; ; n++ {
		to := path.Join(path.Dir(dir), fmt.Sprintf("unlisted.%d.%s", n, path.Base(dir)))
		if _, err := cat.fs.Stat(to); errors.Is(err, fs.ErrNotExist) {
			return to, durable.Rename(cat.fs, dir, to)
		} else if err != nil {
			return "", err
		}
	}
}

// better orders records of datasets of the same number: complete ones first, then the latest. A number is used again
// if the run that used it first died before all nodes knew.
func better(a, b record.Dataset) bool {
	if a.Complete != b.Complete {
		return a.Complete
	}
	return a.Created.After(b.Created)
}

// flushFile is the flush file, in which commands outside of the run see where the datasets are. Rank 0 keeps it, also from the
// background; on the others its methods do nothing.
type flushFile struct {
	*job
	dir *prefixdir.Dir
	mu  sync.Mutex
}

func (ff *flushFile) edit(change func(f *prefixdir.Flush) error) error {
	if ff.c.Rank() != 0 {
		return nil
	}
	ff.mu.Lock()
	defer ff.mu.Unlock()
	f, err := ff.dir.Flush.Load()
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	return ff.dir.Flush.Write(f)
}

// setCached: the dataset is in the caches, and nowhere else.
func (ff *flushFile) setCached(ds record.Dataset) error {
	return ff.edit(func(f *prefixdir.Flush) error { return f.Put(ds, prefixdir.Cache) })
}

// setFetched: the dataset was brought to the caches, and is in the prefix directory too.
func (ff *flushFile) setFetched(ds record.Dataset) error {
	return ff.edit(func(f *prefixdir.Flush) error {
		if err := f.Put(ds, prefixdir.Cache); err != nil {
			return err
		}
		return f.Add(ds.ID, prefixdir.PFS)
	})
}

// setFound: the dataset was found in the caches by a new run. A flush of the old run that did not end is over.
func (ff *flushFile) setFound(ds record.Dataset) error {
	return ff.edit(func(f *prefixdir.Flush) error {
		in := prefixdir.Cache
		if f.Is(ds.ID, prefixdir.PFS) {
			in |= prefixdir.PFS
		}
		return f.Put(ds, in)
	})
}

// setDropped: the dataset is not in the caches any more. Its entry goes, as the reference removes it: the file would grow with each checkpoint.
func (ff *flushFile) setDropped(id int) error {
	return ff.edit(func(f *prefixdir.Flush) error { f.Remove(id); return nil })
}

// setFlushing: a flush begins, of the kind that how says.
func (ff *flushFile) setFlushing(id int, how prefixdir.Location) error {
	return ff.edit(func(f *prefixdir.Flush) error { return f.Add(id, how) })
}

// setFlushed: a flush is over; ok: the dataset is in the prefix directory now.
func (ff *flushFile) setFlushed(id int, ok bool) error {
	return ff.edit(func(f *prefixdir.Flush) error {
		if _, in := f.Entry(id); !in {
			return nil
		}
		if ok {
			if err := f.Add(id, prefixdir.PFS); err != nil {
				return err
			}
		}
		return f.Clear(id, prefixdir.Flushing|prefixdir.SyncFlushing)
	})
}
