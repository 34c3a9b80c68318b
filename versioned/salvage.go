package versioned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
)

// salvage holds the files found in the directory of an array.
type salvage struct {
	fsys  vfs.FS
	dir   string
	files []salvaged
	left  []Finding
}

type salvaged struct {
	info  fileInfo
	about *about
}

func (s *salvage) leave(name, format string, args ...any) {
	s.left = append(s.left, Finding{Severity: fault.Error, File: filepath.Join(s.dir, name), Offset: -1, Msg: fmt.Sprintf(format, args...)})
}

// scan reads all data files of the array.
func (s *salvage) scan(ctx context.Context, array string) error {
	list, err := s.fsys.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		n := e.Name()
		if !arrays.DataName.MatchString(n) || !e.Type().IsRegular() {
			continue
		}
		f, err := s.read(ctx, filepath.Join(s.dir, n))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.leave(n, "%v", err)
		case f.about == nil:
			s.leave(n, "does not name its array, because an older program wrote it")
		case f.about.Spec.Name != array:
			s.leave(n, "belongs to array %s", f.about.Spec.Name)
		default:
			s.files = append(s.files, *f)
		}
	}
	slices.SortFunc(s.files, func(x, y salvaged) int {
		return cmp.Or(cmp.Compare(x.info.Gen, y.info.Gen), cmp.Compare(x.info.Born, y.info.Born), cmp.Compare(x.info.Node, y.info.Node), cmp.Compare(x.info.Name, y.info.Name))
	})
	if len(s.files) == 0 {
		return fmt.Errorf("%s: the seal is missing, and no data file names its array: %w", s.dir, ErrMissing)
	}
	return nil
}

// read reads a data file and its description of the array. It verifies the metadata and the description.
func (s *salvage) read(ctx context.Context, name string) (*salvaged, error) {
	f, err := s.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	r, sum, err := decodeData(f, size)
	if err != nil {
		return nil, err
	}
	x := &salvaged{info: fileInfo{Name: filepath.Base(name), Size: size, Sum: sum}}
	if x.about, err = readAbout(ctx, r, name); err != nil || x.about == nil {
		return x, err
	}
	v := x.about.Versions[len(x.about.Versions)-1]
	x.info.Node, x.info.Gen, x.info.Born, x.info.From = max(x.about.Node, 0), v.Generation, v.Number, 0 // preliminary values; the tables give the final ones
	for _, id := range r.File().Vars() {
		if id.ID != aboutID && id.ID%2 == 0 {
			x.info.Segs = append(x.info.Segs, int(id.ID/2))
		}
	}
	var gen, born int64
	if fmt.Sscanf(x.info.Name, "g%d-v%d-", &gen, &born); int64(v.Generation) != gen || v.Number != born {
		return nil, fault.At(name, -1, "about", ErrCorrupt, "version %d of generation %d", v.Number, v.Generation)
	}
	return x, nil
}

// Rebuilt describes what Rebuild did or, in a dry run, would do.
type Rebuilt struct {
	Array    string        `json:"array"`
	Whole    bool          `json:"whole"`     // both seals were sound, and Rebuild did nothing
	FromTwin bool          `json:"from_twin"` // a damaged or lost seal was replaced by a copy of the other seal
	Versions []VersionInfo `json:"versions"`  // versions in the seal, oldest first
	Left     []Finding     `json:"left"`      // files that belong to none of these versions; their new names begin with "left-"
}

// Rebuild restores the lost or damaged seal of an array. It copies the other seal of the array or, if neither seal is sound,
// uses the data files. dir and fsys are as for OpenView. No Array may have the store open.
//
// From the data files Rebuild restores the versions whose chunks are complete and match the version's sum. It may also restore
// a version whose commit was interrupted, or a version that was dropped. ErrMissing means that there is neither a seal nor a
// data file that names its array.
func Rebuild(ctx context.Context, dir string, fsys vfs.FS, dryRun bool) (*Rebuilt, error) {
	s := &salvage{fsys: vfs.OrOS(fsys), dir: filepath.Clean(dir)}
	rec, bad := readRecords(s.fsys, s.dir)
	out := &Rebuilt{Array: filepath.Base(s.dir), Whole: rec != nil && errors.Join(bad...) == nil, Left: []Finding{}}
	for _, err := range bad {
		if err != nil && !unreadable(err) {
			return nil, err // a later attempt may be able to read it
		}
		if errors.Is(err, fault.ErrVersion) {
			return nil, err // the seal is not damaged, but written by a newer program
		}
	}
	if rec != nil {
		out.Array, out.FromTwin, out.Versions = rec.Spec.Name, !out.Whole, rec.versions()
		if !out.Whole && !dryRun {
			return out, writeRecord(s.fsys, s.dir, rec, true)
		}
		return out, nil
	}
	if err := s.scan(ctx, out.Array); err != nil {
		return nil, err
	}
	rec, err := s.record(ctx)
	if err != nil {
		return nil, err
	}
	out.Array, out.Versions, out.Left = rec.Spec.Name, rec.versions(), append(out.Left, s.left...)
	if dryRun {
		return out, nil
	}
	for _, f := range s.left { // these files are renamed, so that no later step removes them
		if err := durable.Rename(s.fsys, f.File, filepath.Join(filepath.Dir(f.File), leftPrefix+filepath.Base(f.File))); err != nil {
			return nil, err
		}
	}
	return out, writeRecord(s.fsys, s.dir, rec, true)
}

// record makes a record of the versions whose chunks are all in the data files.
func (s *salvage) record(ctx context.Context) (*record, error) {
	last := s.files[0].about
	for _, f := range s.files {
		if f.about.Seq > last.Seq {
			last = f.about
		}
	}
	rec := &record{SealHead: records.Head(last.Seq + 1), Spec: last.Spec, Order: last.Order, Key: last.Key}
	versions, gens := map[int64]verInfo{}, map[int]geometry{}
	use := s.files[:0]
	for _, f := range s.files {
		x := f.about
		if x.Spec.Type != last.Spec.Type || x.Spec.Chunk != last.Spec.Chunk || x.Order != last.Order || x.Key != last.Key ||
			slices.ContainsFunc(x.Generations, func(g geometry) bool { o, ok := gens[g.ID]; return ok && o != g }) {
			s.leave(f.info.Name, "describes the array differently from %s of commit %d", last.Spec.Name, last.Seq)
			continue
		}
		use = append(use, f)
		rec.Files = append(rec.Files, f.info)
		for _, g := range x.Generations {
			gens[g.ID] = g
		}
		for i, v := range x.Versions {
			if o, ok := versions[v.Number]; !ok || v.Generation > o.Generation || v.Generation == o.Generation && i < len(x.Versions)-1 { // prefer the complete data in later files
				versions[v.Number] = v
			}
		}
	}
	s.files = use
	for _, g := range gens {
		rec.Generations = append(rec.Generations, g)
	}
	slices.SortFunc(rec.Generations, func(x, y geometry) int { return cmp.Compare(x.ID, y.ID) })
	for _, v := range versions {
		if _, ok := rec.generation(v.Generation); ok {
			rec.Versions = append(rec.Versions, v)
		}
	}
	slices.SortFunc(rec.Versions, func(x, y verInfo) int { return cmp.Compare(x.Number, y.Number) })
	name := filepath.Join(s.dir, recordName)
	if len(rec.Versions) > 0 {
		rec.Spec.Shape = rec.Versions[len(rec.Versions)-1].Shape
	}
	if err := rec.check(name); err != nil { // the descriptions in data files may be invalid
		return nil, err
	}
	if err := s.whole(ctx, rec); err != nil {
		return nil, err
	}
	if len(rec.Versions) == 0 {
		return nil, fault.In(s.dir, "", ErrMissing, "no version is complete")
	}
	rec.Spec.Shape = slices.Clone(rec.Versions[len(rec.Versions)-1].Shape)
	return rec, rec.check(name)
}

// whole removes from a record all versions with missing chunks, and the files that the remaining versions do not need.
func (s *salvage) whole(ctx context.Context, rec *record) error {
	t, err := parseType(rec.Spec.Type)
	if err != nil {
		return err
	}
	opt := (&Options{}).withDefaults()
	cat, err := newCatalog(rec, t, []*nodeStore{{s.fsys, s.dir}}, 0, &opt)
	if err != nil {
		return err
	}
	defer cat.close()
	all := rec.clone()
	needed := map[string]bool{}
	rec.Versions = nil
	for i := range rec.Files {
		if err := cat.oldest(ctx, &rec.Files[i]); err != nil {
			return err
		}
	}
	for i := range all.Versions {
		v := &all.Versions[i]
		g, _ := all.generation(v.Generation)
		files, ok, err := cat.stateOf(ctx, g, v)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for f := range files {
			needed[f] = true
		}
		rec.Versions = append(rec.Versions, *v)
	}
	dead := map[string]bool{}
	for i := range all.Files {
		f := &all.Files[i]
		if !needed[f.Name] {
			dead[f.Name] = true
			s.leave(f.Name, "no complete version needs it")
		}
	}
	if len(rec.Versions) > 0 {
		last := rec.Versions[len(rec.Versions)-1].Generation
		rec.Generations = slices.DeleteFunc(rec.Generations, func(g geometry) bool { return g.ID > last })
		rec.prune(dead)
	}
	for i := range rec.Versions {
		rec.Versions[i].weighFiles(rec)
	}
	return nil
}

// weighFiles sets the total size of a version's files. The descriptions in the files cannot have it, because it was unknown
// when they were written.
func (v *verInfo) weighFiles(rec *record) {
	if v.Written > 0 {
		return
	}
	for i := range rec.Files {
		if f := &rec.Files[i]; f.Gen == v.Generation && f.Born == v.Number {
			v.Written += f.Size
		}
	}
}
