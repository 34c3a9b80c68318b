package salvage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Node describes the caches of a node.
type Node struct {
	Name    string   // used in messages
	FS      vfs.FS   // file system of the node; nil: the operating system's
	Catalog string   // path of its catalogue, <control folder>/cindex.scrinfo
	Caches  []string // cache folders to search for datasets that the catalogue does not list
}

// ScavengeOptions are the options of Scavenge.
type ScavengeOptions struct {
	Node
	Prefix  *prefixdir.Dir
	Was     string         // path of the prefix directory when the dataset was written; "": same as now
	ID      int            // number of the dataset
	Dataset record.Dataset // if its ID is set, the node must have this dataset under this number
	Workers int            // number of ranks copied at once, default 4
}

// RankCopy is the result of copying one rank's files.
type RankCopy struct {
	Rank   int
	Mapped bool              // the file map of the rank is in the prefix directory
	Files  []prefixdir.File  // files that were copied, or are already in the prefix directory (bypass)
	Lost   map[string]string // by name in the cache, the reason why the file could not be copied
	Bytes  int64             // number of copied bytes
}

// Copied is the result of Scavenge on one node.
type Copied struct {
	ID      int
	Dataset record.Dataset // ID is 0 if the node does not know the record
	Ranks   []RankCopy     // ascending; empty: the node has no files of the dataset
	Safe    bool           // the dataset is complete in the prefix directory: nothing was copied
	Stale   bool           // the node has another dataset with this number: nothing was copied
}

// Scavenge copies a node's files of a dataset into the prefix directory. Application files are copied to their final paths. File
// maps and redundancy files are copied unchanged into the metadata folder of the dataset, with a record of the checksums of all
// copies. Before the first copy, the index lists the dataset as incomplete. Files that cannot be read or do not match the file
// map are skipped and reported in the result; Rebuild may restore them. An error means that the prefix directory or the catalogue
// cannot be used, or that ctx has ended.
//
// A file gets its name when it is whole and synced. The name is hidden if another complete dataset has a file with this name. The
// file map of a rank is written last. Scavenge may be repeated.
func Scavenge(ctx context.Context, o ScavengeOptions) (*Copied, error) {
	p, err := newTarget(o.Prefix, o.Was, o.ID)
	if err != nil {
		return nil, err
	}
	o.FS = vfs.OrOS(o.FS)
	if err := o.checkOwner(); err != nil {
		return nil, err
	}
	all, err := Survey(o.Node)
	if err != nil && !(fault.IsDamage(err) && len(all) > 0) {
		return nil, err
	}
	c := &Copied{ID: o.ID}
	i := slices.IndexFunc(all, func(h cachedir.Holding) bool { return h.ID == o.ID && !h.Gone })
	if i < 0 {
		return c, nil
	}
	h := all[i]
	if h.Err != nil {
		return nil, h.Err
	}
	if !sameDataset(h.Dataset, o.Dataset) {
		c.Stale = true
		return c, nil
	}
	c.Dataset = h.Dataset
	if c.Dataset.ID == 0 {
		c.Dataset = o.Dataset
	}
	if err := p.begin(ctx, c.Dataset); err != nil {
		return c, err
	}
	if c.Safe, err = p.announce(ctx, c.Dataset); err != nil || c.Safe {
		return c, err
	}
	if h.Old {
		return c, p.copyOld(ctx, o, h, c)
	}
	return c, p.copyRanks(ctx, o, h, c)
}

// checkOwner checks that the node's directories and the prefix directory belong to the user. Otherwise other users could change
// the files to be copied, or create links where Scavenge writes.
func (o *ScavengeOptions) checkOwner() error {
	if err := o.Prefix.CheckOwner(); err != nil {
		return err
	}
	for _, dir := range append([]string{path.Dir(o.Catalog)}, o.Caches...) {
		if err := vfs.CheckOwner(o.FS, dir, vfs.OwnOnly); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := vfs.CheckOwner(o.FS, o.Catalog, vfs.AnyMode); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// safe reports whether the dataset of an index entry is complete and its files exist.
func (p target) safe(e prefixdir.Entry) (bool, error) {
	gone, err := p.dir.Presence().Of(e)
	return e.Complete && gone == nil && err == nil, err
}

// announce lists the dataset as incomplete in the index, unless it is already complete.
func (p target) announce(ctx context.Context, ds record.Dataset) (safe bool, err error) {
	if err := p.dir.Datasets.Create(p.id); err != nil {
		return false, err
	}
	err = p.dir.Index.Update(ctx, func(x *prefixdir.Index) error {
		for _, e := range x.Entries() {
			if e.ID == p.id {
				if !sameDataset(e.Dataset, ds) {
					return fmt.Errorf("dataset %d has a different name %.80q in the index: %w", p.id, e.Name, fault.ErrExist)
				}
				var err error
				if safe, err = p.safe(e); err != nil || safe {
					return err
				}
			}
		}
		if ds.ID == 0 || p.replaces(x, ds) { // the older dataset keeps the name until this dataset is whole
			return nil
		}
		return x.Add(ds, false)
	})
	if err != nil || safe {
		return safe, err
	}
	// Remove the summary, because a rebuild of the index would list a dataset with a summary as complete.
	if err := p.dir.Datasets.RemoveSummary(p.dir.Datasets.Place(p.id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, nil
}

func (p target) copyRanks(ctx context.Context, o ScavengeOptions, h cachedir.Holding, c *Copied) error {
	workers := o.Workers
	if workers <= 0 {
		workers = 4
	}
	c.Ranks = make([]RankCopy, len(h.Ranks))
	return par.Each(ctx, workers, len(h.Ranks), func(ctx context.Context, i int) (err error) {
		r := h.Ranks[i]
		if c.Ranks[i], err = p.copyRank(ctx, o.FS, h, r, c.Dataset); err != nil {
			return fmt.Errorf("rank %d of dataset %d: %w", r.Rank, p.id, err)
		}
		return nil
	})
}

func (p target) copyRank(ctx context.Context, from vfs.FS, h cachedir.Holding, r cachedir.RankHolding, ds record.Dataset) (RankCopy, error) {
	rc := RankCopy{Rank: r.Rank, Lost: map[string]string{}}
	s := sums{dataset: ds, files: map[string]expect{}, meta: map[string]expect{}}
	if r.Map != nil {
		for _, f := range r.Map.Files() {
			if err := p.copyUser(ctx, from, f, &s, &rc); err != nil {
				return rc, err
			}
		}
	} else if r.Err != nil {
		rc.Lost[fmt.Sprintf("filemap_%d", r.Rank)] = r.Err.Error()
	}
	for _, name := range r.Redundancy {
		base := path.Base(name)
		if unsound(from, h.Path, r, base) {
			rc.Lost[name] = "redundancy group is unfinished"
			continue
		}
		if err := p.copyMeta(ctx, from, name, base, &s, &rc); err != nil {
			return rc, err
		}
	}
	return rc, p.copyMap(ctx, from, h, r, &s, &rc)
}

// unsound reports whether a redundancy file may be incomplete, because its group was unfinished when the run died. The original
// SCR may leave such files. This library gives the redundancy files of a group their names only when all are whole, and writes
// their checksums.
func unsound(fsys vfs.FS, dir string, r cachedir.RankHolding, base string) bool {
	group := cachedir.DataGroup
	if strings.HasPrefix(base, cachedir.MapGroup) {
		group = cachedir.MapGroup
	}
	if state, err := cachedir.ReadState(fsys, dir, group); err != nil || state != cachedir.StateCorrupt {
		return false
	}
	return !slices.ContainsFunc(r.Redundancy, func(n string) bool {
		n = path.Base(n)
		return strings.HasPrefix(n, group) && strings.HasSuffix(n, ".redsum")
	})
}

// copyUser copies an application file if the file matches its record.
func (p target) copyUser(ctx context.Context, from vfs.FS, f cachedir.MapFile, s *sums, rc *RankCopy) error {
	rel, err := p.relative(f.Meta)
	if err != nil {
		return err
	}
	if !f.Meta.Complete {
		rc.Lost[f.Name] = errNever.Error()
		return nil
	}
	want := expect{f.Meta.Size, f.Meta.CRC, f.Meta.HasCRC}
	var size int64
	var crc uint32
	if p.inPlace(f.Name, rel) { // with bypass, the file is already in the prefix directory
		crc, size, err = vfs.SumFile(ctx, p.fs, p.file(rel))
		if err == nil {
			err = want.check(f.Name, size, crc)
		}
		if err != nil && ctx.Err() == nil {
			err = &sourceError{err}
		}
	} else {
		at, serr := p.spot(rel)
		if serr != nil {
			return serr
		}
		if err := p.makeParent(rel); err != nil {
			return err
		}
		size, crc, err = copyFile(ctx, from, f.Name, p.fs, at, want)
		rc.Bytes += size
	}
	var lost *sourceError
	if errors.As(err, &lost) {
		rc.Lost[f.Name] = lost.Error()
		return nil
	}
	if err != nil {
		return err
	}
	s.files[rel] = expect{size, crc, true}
	rc.Files = append(rc.Files, prefixdir.File{Path: rel, Size: size, HasSize: true, CRC: crc, HasCRC: true})
	return p.syncDir(rel)
}

func (p target) copyMeta(ctx context.Context, from vfs.FS, name, base string, s *sums, rc *RankCopy) error {
	size, crc, err := copyFile(ctx, from, name, p.fs, p.metaFile(base), expect{size: -1})
	var lost *sourceError
	if errors.As(err, &lost) {
		rc.Lost[name] = lost.Error()
		return nil
	}
	if err != nil {
		return err
	}
	rc.Bytes += size
	s.meta[base] = expect{size, crc, true}
	return nil
}

// copyMap writes the checksum record and then copies the file map. The copy must be exact, because the redundancy of the file map
// protects its bytes.
func (p target) copyMap(ctx context.Context, from vfs.FS, h cachedir.Holding, r cachedir.RankHolding, s *sums, rc *RankCopy) error {
	if err := p.fs.SyncDir(p.meta); err != nil {
		return err
	}
	if err := kvtree.WriteFile(p.fs, p.sums(r.Rank), s.tree()); err != nil {
		return err
	}
	if r.Map == nil {
		return nil
	}
	name := cachedir.FilemapName(h.Path, r.Rank)
	_, _, err := copyFile(ctx, from, name, p.fs, p.filemap(r.Rank), expect{size: -1})
	var lost *sourceError
	if errors.As(err, &lost) {
		rc.Lost[name] = lost.Error()
		return nil
	}
	rc.Mapped = err == nil
	return errors.Join(err, p.fs.SyncDir(p.meta))
}
