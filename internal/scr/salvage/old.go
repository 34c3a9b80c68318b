package salvage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Survey is like cachedir.Survey, but also handles caches of generations A and B, whose list of file maps is in the catalogue's
// folder. If both list a dataset, Survey uses the catalogue. Folders that are not in these lists are reported too.
func Survey(n Node) ([]cachedir.Holding, error) {
	fsys := vfs.OrOS(n.FS)
	all, err := cachedir.Survey(fsys, n.Catalog, n.Caches...)
	if err != nil && !fault.IsDamage(err) {
		return nil, err
	}
	if path.Base(n.Catalog) != cachedir.CatalogName {
		return all, err
	}
	old, oerr := cachedir.Survey(fsys, path.Join(path.Dir(n.Catalog), cachedir.MasterName))
	if oerr != nil && !fault.IsDamage(oerr) {
		return nil, oerr
	}
	listed := map[int]bool{}
	for _, h := range all {
		listed[h.ID] = listed[h.ID] || h.Listed
	}
	var out []cachedir.Holding
	for _, h := range old {
		if !listed[h.ID] {
			if h.Dataset.Name == "" && h.Dataset.ID > 0 {
				h.Dataset.Name = record.DefaultName(h.ID) // a dataset of generation A has no name
			}
			out = append(out, h)
			listed[h.ID] = true
		}
	}
	for _, h := range all {
		if h.Listed || !listed[h.ID] {
			out = append(out, h)
		}
	}
	return out, errors.Join(err, oerr)
}

// copyOld copies a node's files of a dataset of generation A or B. The application's files are copied to their final paths.
// Redundancy files are copied unchanged into the folder of the file maps. File maps are written in the form of generation C. They
// are the maps of ranks with all files on the node, and the maps in the headers of redundancy files.
func (p target) copyOld(ctx context.Context, o ScavengeOptions, h cachedir.Holding, c *Copied) error {
	for _, r := range h.Ranks {
		rc, err := p.copyOldRank(ctx, o.FS, h, r, c.Dataset)
		c.Ranks = append(c.Ranks, rc)
		if err != nil {
			return fmt.Errorf("rank %d of dataset %d: %w", r.Rank, p.id, err)
		}
	}
	return p.fs.SyncDir(p.meta)
}

func (p target) copyOldRank(ctx context.Context, from vfs.FS, h cachedir.Holding, r cachedir.RankHolding, ds record.Dataset) (RankCopy, error) {
	rc := RankCopy{Rank: r.Rank, Lost: map[string]string{}}
	s := sums{dataset: ds, files: map[string]expect{}, meta: map[string]expect{}}
	m := cachedir.NewFilemap()
	for _, f := range r.Map.Files() {
		f = p.belongs(f)
		m.Put(f)
		if err := p.copyUser(ctx, from, f, &s, &rc); err != nil {
			return rc, err
		}
	}
	for _, name := range r.Redundancy {
		base := path.Base(name)
		if err := p.copyMeta(ctx, from, name, base, &s, &rc); err != nil {
			return rc, err
		}
		if err := p.mapsOf(h, base); err != nil {
			if !fault.IsDamage(err) && !errors.Is(err, fs.ErrNotExist) {
				return rc, err
			}
			rc.Lost[name] = err.Error()
		}
	}
	if err := p.fs.SyncDir(p.meta); err != nil {
		return rc, err
	}
	if r.Whole() && len(rc.Lost) == 0 {
		rc.Mapped = true
		if err := kvtree.WriteFile(p.fs, p.sums(r.Rank), s.tree()); err != nil {
			return rc, err
		}
		return rc, m.Write(p.fs, p.filemap(r.Rank))
	}
	return rc, nil
}

// belongs adds the final path to a file's record. Records of generation A contain only the base name, and all files of a dataset
// are in a folder with the default name.
func (p target) belongs(f cachedir.MapFile) cachedir.MapFile {
	if f.Meta.Name == "" {
		f.Meta.Name = path.Base(f.Name)
	}
	if f.Meta.Path == "" {
		f.Meta.Path = path.Join(p.was, record.DefaultName(p.id))
	}
	return f
}

// mapsOf writes the file maps that are in the header of a redundancy file, for the member and its left neighbour.
// Existing maps are kept.
func (p target) mapsOf(h cachedir.Holding, base string) error {
	t, err := kvtree.ReadFile(p.fs, p.metaFile(base), nil)
	if err != nil {
		return err
	}
	for _, key := range []string{"CURRENT", "PARTNER"} {
		f := record.Fields{Tree: t.Get(key), File: p.metaFile(base), Path: key}
		rank := f.Int("RANK", 0)
		if err := f.Err(); err != nil {
			return err
		}
		if _, err := p.fs.Stat(p.filemap(rank)); err == nil {
			continue
		}
		m := cachedir.NewFilemap()
		list := t.Get(key).Get("FILE")
		for i := range list.Len() {
			meta, err := record.ParseMeta(list.Get(strconv.Itoa(i)), p.metaFile(base))
			if err != nil {
				return err
			}
			if meta.File == "" || meta.File != path.Base(meta.File) {
				return fault.In(p.metaFile(base), key+"/FILE/"+strconv.Itoa(i), fault.ErrCorrupt, "%.80q, want the base name of a file", meta.File)
			}
			meta.Complete = true // the redundancy protects only complete files
			m.Put(p.belongs(cachedir.MapFile{Name: path.Join(h.Path, meta.File), Meta: meta}))
		}
		if err := m.Write(p.fs, p.filemap(rank)); err != nil {
			return err
		}
	}
	return nil
}
