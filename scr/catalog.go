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

// catalog lists the datasets in the caches of this node.
type catalog struct {
	*job
	levels levels
	now    *cachedir.Catalog // set by find, on the first rank of the node; no other process changes the file during the run
}

// file returns the path of the catalogue of this node.
func (cat *catalog) file() string { return path.Join(cat.p.job.Control, cachedir.CatalogName) }

// change changes the catalogue of this node. The first rank of the node does it, and other ranks return at once.
func (cat *catalog) change(edit func(c *cachedir.Catalog)) error {
	if cat.node.c.Rank() != 0 {
		return nil
	}
	edit(cat.now)
	return cat.now.Write(cat.fs, cat.file())
}

// find reads the catalogue of this node, on the first rank of the node. If it is lost, damaged or unreadable, find rebuilds it from the
// folders in the caches. Unknown folders are not used, because they may hold an older dataset with the same number; they are set aside
// for the user. All other lost entries are taken from the catalogues of the other nodes.
func (cat *catalog) find() (c *cachedir.Catalog, err error) {
	defer func() { cat.now = c }()
	_, serr := cat.fs.Stat(cat.file())
	c, err = cachedir.ReadCatalog(cat.fs, cat.file())
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
	old := map[string]bool{} // folders of SCR 1 and 2, whose file maps are elsewhere
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
		return c, nil // a new node
	}
	cat.log.Warn("scr: the catalogue of a node is rebuilt from its caches", "node", cat.node.name, "datasets", c.Len())
	return c, c.Write(cat.fs, cat.file())
}

// ownDevice reports whether all ranks that use the device of a store are on this node. Otherwise the catalogue of another node
// may list its datasets.
func (cat *catalog) ownDevice(l *level) bool {
	for r, d := range l.devices {
		if d == l.device && cat.node.names[r] != cat.node.name {
			return false
		}
	}
	return true
}

// setAside renames the folder of a dataset, so that no program finds the dataset.
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

// better reports whether a is the better of two records with the same dataset number. A complete dataset is better than an
// incomplete one. If both are complete or both are incomplete, the later one is better. A number is used again if an earlier run
// died before all nodes had recorded the dataset.
func better(a, b record.Dataset) bool {
	if a.Complete != b.Complete {
		return a.Complete
	}
	return a.Created.After(b.Created)
}

// flushFile is the flush file. It shows programs outside of the run where datasets are. Rank 0 writes it, also from the
// background. On other ranks the methods do nothing.
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

// setCached records that a dataset is only in the caches.
func (ff *flushFile) setCached(ds record.Dataset) error {
	return ff.edit(func(f *prefixdir.Flush) error { return f.Put(ds, prefixdir.Cache) })
}

// setBoth records that a dataset is in the caches and in the prefix directory.
func (ff *flushFile) setBoth(ds record.Dataset) error {
	return ff.edit(func(f *prefixdir.Flush) error { return f.Put(ds, prefixdir.Cache|prefixdir.PFS) })
}

// setFound records that a new run has found a dataset in the caches. If the old run was flushing the dataset, that flush has
// ended.
func (ff *flushFile) setFound(ds record.Dataset) error {
	return ff.edit(func(f *prefixdir.Flush) error {
		in := prefixdir.Cache
		if f.Is(ds.ID, prefixdir.PFS) {
			in |= prefixdir.PFS
		}
		return f.Put(ds, in)
	})
}

// setDropped removes the entry of a dataset that was deleted from the caches, as the original SCR does. Otherwise the file would
// grow with each checkpoint.
func (ff *flushFile) setDropped(id int) error {
	return ff.edit(func(f *prefixdir.Flush) error { f.Remove(id); return nil })
}

// setFlushing records that a flush begins. how is the kind of flush.
func (ff *flushFile) setFlushing(id int, how prefixdir.Location) error {
	return ff.edit(func(f *prefixdir.Flush) error { return f.Add(id, how) })
}

// setFlushed records that a flush has ended. If ok is set, the dataset is in the prefix directory.
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
