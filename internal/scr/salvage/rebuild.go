package salvage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
	"blobio/scr/redset"
)

// Options are the options of ScanDataset, Rebuild and Index.
type Options struct {
	Prefix  *prefixdir.Dir
	Was     string // path of the prefix directory when the dataset was written; "": same as now
	ID      int
	Dataset record.Dataset   // replaces the scavenged record if its ID is set
	Current bool             // for Index: make the checkpoint the current dataset
	Now     func() time.Time // for Index: time of the flush; nil: time.Now
}

// Result describes a dataset that is whole in the prefix directory.
type Result struct {
	ID       int
	Dataset  record.Dataset
	Ranks    int                      // number of ranks of the run that wrote the dataset
	Files    map[int][]prefixdir.File // by rank, in the order of registration
	Rebuilt  []string                 // rebuilt files of the application, relative to the prefix directory; sorted
	Damaged  []string                 // files that have changed since they were copied or written
	Meta     []string                 // rebuilt file maps and redundancy files
	Verified bool                     // all bytes match checksums of the run, of the copy, or of an earlier Rebuild
	Safe     bool                     // the index lists the dataset as complete, and the dataset was not examined

	hidden []string // files with hidden names, because other complete datasets have files of the same names
	owned  bool     // some files still belong to other datasets
}

// Totals returns the number of application files and their size.
func (r *Result) Totals() (files, bytes int64) {
	for _, list := range r.Files {
		for _, f := range list {
			files++
			bytes += f.Size
		}
	}
	return files, bytes
}

// Rebuild restores the missing parts of a scavenged dataset from its redundancy. Rebuild needs no ranks: it works after the job has
// ended. It first restores the
// file maps, then the files in them. A file that does not match its checksum is treated as missing, and is kept under another
// name until the rebuild is complete. After success all files of all ranks exist with the known sizes and checksums, and their
// number and total size match the dataset's record.
//
// If the redundancy cannot restore all losses, the error wraps ErrMissing (or ErrCorrupt, if files contradict each other). Files
// whose names belong to a complete dataset keep hidden names until Index replaces that dataset. Rebuild may be repeated, and may
// follow another Scavenge.
func Rebuild(ctx context.Context, o Options) (*Result, error) {
	p, err := newTarget(o.Prefix, o.Was, o.ID)
	if err != nil {
		return nil, err
	}
	if err := p.begin(ctx, o.Dataset); err != nil {
		return nil, err
	}
	r := rebuilder{scanner: scanner{target: p, bytes: true, seen: map[string]uint32{}, made: map[string]bool{}}, res: &Result{ID: o.ID, Files: map[int][]prefixdir.File{}}, began: time.Now()}
	if err := r.run(ctx, o); err != nil {
		return nil, fmt.Errorf("dataset %d: %w", o.ID, err)
	}
	return r.res, nil
}

type rebuilder struct {
	scanner
	res   *Result
	aside []string          // names of files that were put aside, without damagedSuffix
	trust bool              // the redundancy of the data verified the files that it read
	sure  bool              // the run recorded checksums of all files
	rels  map[string]string // for each file of the application, by current or future name, its path relative to the prefix directory
	began time.Time
}

func (r *rebuilder) run(ctx context.Context, o Options) error {
	s, err := r.scan(ctx)
	if err != nil {
		return err
	}
	if len(s.Ranks) == 0 {
		return fmt.Errorf("%w: the dataset has no scavenged files", fault.ErrMissing)
	}
	if err := r.putAside(s); err != nil {
		return err
	}
	if s.Dataset.ID != 0 {
		r.target.claims.know(s.Dataset)
	}
	// The file maps.
	lost, err := r.offline(ctx, r.metaFile(cachedir.MapGroup), false, func(rank int, _ string) string { return r.filemap(rank) })
	if err != nil {
		return err
	}
	if s, err = r.scan(ctx); err != nil {
		return err
	}
	if err := r.valid(s, lost); err != nil {
		return err
	}
	if err := r.putAside(s); err != nil { // put aside the files whose checksums were in the rebuilt maps
		return err
	}
	// Rebuild the files that are in the maps.
	if lost, err = r.data(ctx, s); err != nil {
		return err
	}
	if s, err = r.scan(ctx); err != nil {
		return err
	}
	if err := r.valid(s, lost); err != nil {
		return err
	}
	rep := s.Inspect()
	if len(rep.Missing) > 0 {
		return fmt.Errorf("rank %d: %s: %w", rep.Missing[0], rep.Files[rep.Missing[0]], errors.Join(fault.ErrMissing, lost))
	}
	r.res.Verified = rep.Verified || r.trust && lost == nil
	if err := r.totals(s, o); err != nil {
		return err
	}
	return r.finish(ctx, s)
}

// valid returns an error if there are faults that cannot be repaired.
func (r *rebuilder) valid(s *Scan, lost error) error {
	rep := s.Inspect()
	if len(rep.Invalid) > 0 {
		class := fault.ErrCorrupt
		if s.Outside {
			class = ErrOutside
		}
		return errors.Join(&invalidError{rep.Invalid[0], class}, lost)
	}
	for _, x := range s.Ranks {
		if x.Map == nil {
			continue
		}
		for _, f := range x.Files {
			if !f.Meta.Complete {
				return fmt.Errorf("rank %d: %s: %w: %w", x.Rank, f.Path, errNever, fault.ErrMissing)
			}
		}
	}
	for _, rank := range rep.Missing {
		if i := slices.IndexFunc(s.Ranks, func(x RankScan) bool { return x.Rank == rank && x.Map != nil }); i < 0 {
			return fmt.Errorf("rank %d has no file map: %w", rank, errors.Join(fault.ErrMissing, lost))
		}
	}
	return nil
}

// invalidError holds the faults that the scan found and that cannot be repaired.
type invalidError struct {
	msg   string
	class error
}

func (e *invalidError) Error() string { return e.msg }

func (e *invalidError) Unwrap() error { return e.class }

// putAside renames damaged files, so that they are treated as missing.
func (r *rebuilder) putAside(s *Scan) error {
	for _, x := range s.Ranks {
		for _, n := range x.Damaged {
			if err := r.rename(r.metaFile(n)); err != nil {
				return err
			}
		}
		for _, f := range x.Files {
			if f.State == Damaged {
				if err := r.rename(f.at); err != nil {
					return err
				}
				r.res.Damaged = append(r.res.Damaged, f.Path)
			}
		}
	}
	return nil
}

func (r *rebuilder) rename(name string) error {
	delete(r.seen, name)
	r.aside = append(r.aside, name)
	return durable.Rename(r.fs, name, name+damagedSuffix)
}

// offline rebuilds the files of a redundancy group. lost means that too many files are missing for the redundancy. Even then all
// files of the dataset may exist.
func (r *rebuilder) offline(ctx context.Context, prefix string, data bool, where func(rank int, name string) string) (lost, err error) {
	// File maps have checksums of their own. Application files may have checksums from the run.
	rep, err := redset.Offline(ctx, r.fs, prefix, &redset.RecoverOptions{Root: r.root, Map: where, Sure: !data || r.sure})
	var doubt *redset.DoubtError
	switch {
	case err == nil:
	case errors.As(err, &doubt): // all files may exist, but their bytes are not verified
		return nil, err
	case errors.Is(err, redset.ErrNone):
		return nil, nil
	case errors.Is(err, fault.ErrMissing) || errors.Is(err, fault.ErrCorrupt) || fault.IsDamage(err):
		return err, nil
	default:
		return nil, err
	}
	for _, e := range rep.Rebuilt {
		name := path.Clean(filepath.ToSlash(e.Name))
		delete(r.seen, name)
		if rel, ok := strings.CutPrefix(name, r.meta+"/"); ok {
			r.res.Meta = append(r.res.Meta, rel)
		} else if rel, ok := r.rels[name]; ok {
			r.made[name] = true
			r.res.Rebuilt = append(r.res.Rebuilt, rel)
		}
	}
	for _, e := range rep.Corrupt {
		if rel, ok := r.rels[path.Clean(filepath.ToSlash(e.Name))]; ok && !slices.Contains(r.res.Damaged, rel) {
			r.res.Damaged = append(r.res.Damaged, rel)
		}
	}
	if data {
		r.trust = rep.Verified
	}
	return nil, nil
}

// data rebuilds the files of the application.
func (r *rebuilder) data(ctx context.Context, s *Scan) (lost, err error) {
	r.rels = map[string]string{}
	at := map[int]map[string]string{} // current name of each file, by rank and name in the cache
	folders := map[string]bool{}
	r.sure = true
	for _, x := range s.Ranks {
		if x.Map == nil {
			r.sure = false
			continue
		}
		at[x.Rank] = map[string]string{} // in generations A and B names in the cache are base names
		for i, f := range x.Map.Files() {
			rel := x.Files[i].Path
			r.sure = r.sure && f.Meta.HasCRC
			to := x.Files[i].at
			if x.Files[i].State < Present {
				if to, err = r.spot(rel); err != nil {
					return nil, err
				}
			}
			r.rels[to] = rel
			at[x.Rank][path.Clean(f.Name)] = to
			at[x.Rank][path.Base(f.Name)] = to
			if dir := path.Dir(rel); !folders[dir] && x.Files[i].State == Absent {
				folders[dir] = true
				if err := r.makeParent(rel); err != nil {
					return nil, err
				}
			}
		}
	}
	unknown := ""
	where := func(rank int, name string) string {
		to, ok := at[rank][path.Clean(filepath.ToSlash(name))]
		if !ok {
			if unknown == "" {
				unknown = fmt.Sprintf("rank %d, %.200q", rank, name)
			}
			return r.metaFile("unknown/file") // a path in a folder that does not exist
		}
		return to
	}
	lost, err = r.offline(ctx, r.metaFile(cachedir.DataGroup), true, where)
	if err == nil && lost == nil {
		lost, err = r.offline(ctx, r.meta+"/", true, where) // generations A and B
	}
	if unknown != "" {
		return nil, fmt.Errorf("the redundancy files protect a file that the file map does not list: %s: %w", unknown, fault.ErrCorrupt)
	}
	return lost, err
}

// totals compares the files with the dataset's record, and keeps the totals for Index.
func (r *rebuilder) totals(s *Scan, o Options) error {
	ds := s.Dataset
	if o.Dataset.ID != 0 {
		if !sameDataset(o.Dataset, ds) {
			return fmt.Errorf("dataset %.80q was scavenged, want %.80q: %w", ds.Name, o.Dataset.Name, fault.ErrExist)
		}
		ds = o.Dataset
	}
	switch {
	case ds.ID == 0:
		return fmt.Errorf("the record of the dataset is missing: %w", fault.ErrMissing)
	case ds.ID != r.id:
		return fmt.Errorf("the record belongs to dataset %d: %w", ds.ID, fault.ErrCorrupt)
	case !ds.Complete:
		return fmt.Errorf("%w: %w", errNever, fault.ErrMissing)
	}
	r.res.Dataset, r.res.Ranks = ds, s.Size
	for _, x := range s.Ranks {
		r.res.Ranks = max(r.res.Ranks, x.Rank+1)
		list := make([]prefixdir.File, len(x.Files))
		for i, f := range x.Files {
			list[i] = prefixdir.File{Path: f.Path, Size: f.Size, HasSize: true, CRC: f.CRC, HasCRC: f.HasCRC}
			if f.at != r.target.file(f.Path) {
				r.res.hidden = append(r.res.hidden, f.Path)
			}
			owned, err := r.owned(f.Path)
			if err != nil {
				return err
			}
			r.res.owned = r.res.owned || owned
		}
		r.res.Files[x.Rank] = list
	}
	m := prefixdir.Map{Ranks: r.res.Ranks, Files: r.res.Files, Listed: len(s.Ranks)}
	return m.Check(ds)
}

// finish records the checksums of rebuilt files. It removes files that were put aside or left by crashes.
func (r *rebuilder) finish(ctx context.Context, s *Scan) error {
	for _, x := range s.Ranks {
		rec := sums{dataset: r.res.Dataset, files: map[string]expect{}, meta: map[string]expect{}}
		for _, f := range x.Files {
			rec.files[f.Path] = expect{f.Size, f.CRC, true}
		}
		for _, n := range x.Redundancy {
			if err := r.recordMeta(ctx, n, rec); err != nil {
				return err
			}
		}
		if old, err := readSums(r.fs, r.sums(x.Rank)); err == nil && old.tree().Equal(rec.tree()) {
			continue
		}
		if err := kvtree.WriteFile(r.fs, r.sums(x.Rank), rec.tree()); err != nil {
			return err
		}
	}
	for _, name := range r.aside {
		if err := durable.Remove(r.fs, name+damagedSuffix); err != nil {
			return err
		}
	}
	folders := map[string]map[string]bool{r.meta: nil} // files of the dataset in each folder
	for _, x := range s.Ranks {
		for _, f := range x.Files {
			name := f.at
			dir := path.Dir(name)
			if folders[dir] == nil {
				folders[dir] = map[string]bool{}
			}
			folders[dir][path.Base(name)] = true
		}
	}
	for dir, ours := range folders {
		if err := r.clean(dir, ours); err != nil {
			return err
		}
	}
	slices.Sort(r.res.Rebuilt)
	slices.Sort(r.res.Damaged)
	slices.Sort(r.res.Meta)
	r.res.Rebuilt, r.res.Damaged = slices.Compact(r.res.Rebuilt), slices.Compact(r.res.Damaged)
	r.res.Meta = slices.Compact(r.res.Meta)
	return nil
}

func (r *rebuilder) recordMeta(ctx context.Context, n string, rec sums) error {
	st, err := r.fs.Stat(r.metaFile(n))
	if err != nil {
		return err
	}
	_, crc, err := r.same(ctx, r.metaFile(n), expect{size: -1})
	rec.meta[n] = expect{st.Size(), crc, true}
	return err
}

// clean removes files that an earlier attempt left in a folder. ours are the dataset's files in the folder. If ours is nil, the
// whole folder belongs to the dataset. In other folders other programs may be writing, and clean keeps the files written since
// the rebuild began.
func (r *rebuilder) clean(dir string, ours map[string]bool) error {
	list, err := r.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		n := e.Name()
		left := ours == nil && isLeft(n)
		if ours != nil && durable.IsTemp(n) && !ours[n] {
			info, err := e.Info()
			left = err == nil && !info.ModTime().After(r.began)
		}
		if left {
			if err := durable.Remove(r.fs, path.Join(dir, n)); err != nil {
				return err
			}
		}
	}
	return nil
}
