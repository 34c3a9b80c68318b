package versioned

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/ffformat"
	"blobio/internal/vfs"
)

// RebuildOptions of Rebuild. nil means the defaults.
type RebuildOptions struct {
	FS     vfs.FS // default the operating system's
	DryRun bool   // look, and change nothing
}

// Rebuilt is what Rebuild did, or with DryRun would do.
type Rebuilt struct {
	Array    string        `json:"array"`
	Whole    bool          `json:"whole"`     // the records were whole: nothing was to be done
	FromTwin bool          `json:"from_twin"` // of one that is whole others were made anew
	Versions []VersionInfo `json:"versions"`  // of the record, oldest first
	Left     []Finding     `json:"left"`      // files of versions that do not belong to any of them; they get names that begin with "left-"
}

// Rebuild makes the record of an array anew that is lost or damaged: from one that is whole, or, where none is, from what the data files say. dirs are as
// of OpenView, and no array may have the store open. From data files come those versions of which every chunk that they need is there, which a
// sum of them tells, so that none has any byte that it did not have; among them may be one whose commit did not come to its end, or one that
// was dropped. Redundancy is made anew by the next Open. ErrMissing: there is neither a record nor a file that says what it is of.
func Rebuild(ctx context.Context, dirs []string, o *RebuildOptions) (*Rebuilt, error) {
	if o == nil {
		o = &RebuildOptions{}
	}
	if len(dirs) == 0 {
		return nil, usageErr("no directory")
	}
	s := &salvage{fsys: o.FS}
	for _, d := range dirs {
		s.dirs = append(s.dirs, filepath.Clean(d))
	}
	dirs = s.dirs
	if s.fsys == nil {
		s.fsys = vfs.OS
	}
	out := &Rebuilt{Array: filepath.Base(dirs[0]), Whole: true, Left: []Finding{}}
	var rec *record
	for _, d := range dirs {
		best, bad := readRecords(s.fsys, d)
		if best == nil && len(dirs) > 1 {
			if _, err := s.fsys.Stat(d); errors.Is(err, fs.ErrNotExist) {
				continue // a node that is lost
			}
		}
		out.Whole = out.Whole && best != nil && errors.Join(bad...) == nil
		for _, err := range bad {
			if err != nil && !damaged(err) && !errors.Is(err, fs.ErrNotExist) {
				return nil, err // it may be read another time
			}
			if errors.Is(err, ErrVersion) {
				return nil, err // of a newer program, not damaged
			}
		}
		if best != nil && (rec == nil || best.Seq > rec.Seq) {
			rec = best
		}
	}
	if rec != nil {
		out.Array, out.FromTwin, out.Versions = rec.Spec.Name, !out.Whole, rec.versions()
		if !out.Whole && !o.DryRun {
			return out, s.write(rec)
		}
		return out, nil
	}
	out.Whole = false
	if err := s.scan(ctx, out.Array); err != nil {
		return nil, err
	}
	rec, err := s.record(ctx)
	if err != nil {
		return nil, err
	}
	out.Array, out.Versions, out.Left = rec.Spec.Name, rec.versions(), append(out.Left, s.left...)
	if o.DryRun {
		return out, nil
	}
	for _, f := range s.left { // nobody removes it
		if err := s.fsys.Rename(f.File, filepath.Join(filepath.Dir(f.File), leftPrefix+filepath.Base(f.File))); err != nil {
			return nil, err
		}
	}
	return out, s.write(rec)
}

const leftPrefix = "left-"

// salvage is what is found in the directories of an array.
type salvage struct {
	fsys  vfs.FS
	dirs  []string
	files []salvaged
	left  []Finding
	paths map[string][]string // of a data file's name, in all directories
}

type salvaged struct {
	info  fileInfo
	about *about
}

func (s *salvage) leave(name, format string, args ...any) {
	for _, p := range s.paths[name] {
		s.left = append(s.left, Finding{File: p, Text: fmt.Sprintf(format, args...)})
	}
}

// scan reads all data files of the array.
func (s *salvage) scan(ctx context.Context, array string) error {
	s.paths = map[string][]string{}
	var names []string
	for _, d := range s.dirs {
		list, err := s.fsys.ReadDir(d)
		if errors.Is(err, fs.ErrNotExist) && len(s.dirs) > 1 {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range list {
			if n := e.Name(); dataRE.MatchString(n) && e.Type().IsRegular() {
				if s.paths[n] == nil {
					names = append(names, n)
				}
				s.paths[n] = append(s.paths[n], filepath.Join(d, n))
			}
		}
	}
	for _, n := range names {
		var f *salvaged
		var err error
		for _, p := range s.paths[n] { // the first copy that is whole
			if f, err = s.read(ctx, p); err == nil {
				f.info.Node = slices.Index(s.dirs, filepath.Dir(p))
				if f.about != nil && f.about.Node >= 0 && f.about.Node < len(s.dirs) && slices.Contains(s.paths[n], filepath.Join(s.dirs[f.about.Node], n)) {
					f.info.Node = f.about.Node // the others are copies
				}
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		switch {
		case err != nil:
			s.leave(n, "%v", err)
		case f.about == nil:
			s.leave(n, "does not say what it is of: it was written by an older program")
		case f.about.Spec.Name != array:
			s.leave(n, "is of array %s", f.about.Spec.Name)
		default:
			s.files = append(s.files, *f)
		}
	}
	slices.SortFunc(s.files, func(x, y salvaged) int {
		return cmp.Or(cmp.Compare(x.info.Gen, y.info.Gen), cmp.Compare(x.info.Born, y.info.Born), cmp.Compare(x.info.Node, y.info.Node), cmp.Compare(x.info.Name, y.info.Name))
	})
	if len(s.files) == 0 {
		return fmt.Errorf("versioned: %s: no record, and no file that says what it is of: %w", s.dirs[0], ErrMissing)
	}
	return nil
}

// read takes a file for what it says it is; its metadata, and what it says, are verified.
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
	r, err := ffformat.NewReader(f, size, name, &ffformat.DecodeOptions{Layout: ffformat.LayoutF})
	if err != nil {
		return nil, err
	}
	sum, err := r.File().MetaSum()
	if err != nil {
		return nil, err
	}
	x := &salvaged{info: fileInfo{Name: filepath.Base(name), Size: size, Sum: hex.EncodeToString(sum[:])}}
	if x.about, err = readAbout(ctx, r, name); err != nil || x.about == nil {
		return x, err
	}
	v := x.about.Versions[len(x.about.Versions)-1]
	x.info.Gen, x.info.Born, x.info.From = v.Gen, v.Number, 0 // until the tables are read
	for _, id := range r.File().Vars() {
		if id.ID != aboutID && id.ID%2 == 0 {
			x.info.Segs = append(x.info.Segs, int(id.ID/2))
		}
	}
	var gen, born int64
	if fmt.Sscanf(x.info.Name, "g%d-v%d-", &gen, &born); int64(v.Gen) != gen || v.Number != born {
		return nil, formatErr(name, -1, "about", ErrCorrupt, "version %d of generation %d", v.Number, v.Gen)
	}
	return x, nil
}

// record makes that of the versions of which all is there.
func (s *salvage) record(ctx context.Context) (*record, error) {
	last := s.files[0].about
	for _, f := range s.files {
		if f.about.Seq > last.Seq {
			last = f.about
		}
	}
	rec := &record{Head: records.Head(last.Seq + 1), Spec: last.Spec, Order: last.Order, Key: last.Key}
	versions, gens := map[int64]verInfo{}, map[int]geometry{}
	use := s.files[:0]
	for _, f := range s.files {
		x := f.about
		if x.Spec.Type != last.Spec.Type || x.Spec.Chunk != last.Spec.Chunk || x.Order != last.Order || x.Key != last.Key ||
			slices.ContainsFunc(x.Generations, func(g geometry) bool { o, ok := gens[g.ID]; return ok && o != g }) {
			s.leave(f.info.Name, "says other things of the array than %s of commit %d", last.Spec.Name, last.Seq)
			continue
		}
		use = append(use, f)
		rec.Files = append(rec.Files, f.info)
		for _, g := range x.Generations {
			gens[g.ID] = g
		}
		for i, v := range x.Versions {
			if o, ok := versions[v.Number]; !ok || v.Gen > o.Gen || v.Gen == o.Gen && i < len(x.Versions)-1 { // later files know all of it
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
		if _, ok := rec.generation(v.Gen); ok {
			rec.Versions = append(rec.Versions, v)
		}
	}
	slices.SortFunc(rec.Versions, func(x, y verInfo) int { return cmp.Compare(x.Number, y.Number) })
	name := filepath.Join(s.dirs[0], recordName)
	if len(rec.Versions) > 0 {
		rec.Spec.Shape = rec.Versions[len(rec.Versions)-1].Shape
	}
	if err := rec.check(name); err != nil { // what files say is held against what a record can say
		return nil, err
	}
	if err := s.whole(ctx, rec); err != nil {
		return nil, err
	}
	if len(rec.Versions) == 0 {
		return nil, fmt.Errorf("versioned: %s: of no version all is there: %w", s.dirs[0], ErrMissing)
	}
	rec.Spec.Shape = slices.Clone(rec.Versions[len(rec.Versions)-1].Shape)
	return rec, rec.check(name)
}

// whole leaves those versions in a record of which every chunk is there, and the files that they need.
func (s *salvage) whole(ctx context.Context, rec *record) error {
	t, err := ParseType(rec.Spec.Type)
	if err != nil {
		return err
	}
	stores := make([]*nodeStore, len(s.dirs))
	for i, d := range s.dirs {
		stores[i] = &nodeStore{s.fsys, d}
	}
	opt := (&Options{}).withDefaults()
	cat, err := newCatalog(rec, t, stores, len(s.dirs)-1, &opt)
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
		g, _ := all.generation(v.Gen)
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
			s.leave(f.Name, "no version of which all is there needs it")
		}
	}
	if len(rec.Versions) > 0 {
		last := rec.Versions[len(rec.Versions)-1].Gen
		rec.Generations = slices.DeleteFunc(rec.Generations, func(g geometry) bool { return g.ID > last })
		rec.prune(dead)
	}
	for i := range rec.Versions {
		rec.Versions[i].weighFiles(rec)
	}
	return nil
}

// weighFiles sums up what the files of a version say, which they did not know when they were written.
func (v *verInfo) weighFiles(rec *record) {
	if v.Written > 0 {
		return
	}
	for i := range rec.Files {
		if f := &rec.Files[i]; f.Gen == v.Gen && f.Born == v.Number {
			v.Written += f.Size
		}
	}
}

// oldest finds the oldest version that an entry of a file is of; of one whose tables cannot be read it stays unknown.
func (c *catalog) oldest(ctx context.Context, f *fileInfo) error {
	g, _ := c.record().generation(f.Gen)
	from := f.Born
	for _, seg := range f.Segs {
		es, err := c.table(ctx, f, seg, g.Seg*c.size/c.chunk)
		if err != nil {
			return ctx.Err()
		}
		for _, e := range es {
			from = min(from, e.since)
		}
	}
	f.From = from
	return nil
}

// stateOf says whether the chunks of a version, as the tables have them, are those that were committed, and which files have them.
func (c *catalog) stateOf(ctx context.Context, g *geometry, v *verInfo) (files map[string]bool, ok bool, err error) {
	files = map[string]bool{}
	zero := hashChunk(make([]byte, c.chunk))
	segs := make([][]byte, g.Segs)
	for seg := range segs {
		x, err := c.index(ctx, g, seg)
		if err != nil {
			return nil, false, err
		}
		segs[seg] = segSum(int((g.segLen(seg)*c.size+c.chunk-1)/c.chunk), func(k int) digest {
			p, there := x.find(int64(k), v.Number)
			if !there {
				return zero
			}
			files[c.files[p.file].Name] = true
			return p.sum
		})
	}
	// Version 0 is zeros, and has no sum.
	return files, v.Sum == stateSum(segs) || v.Number == 0 && len(files) == 0, nil
}

// write replaces the record in all directories.
func (s *salvage) write(rec *record) error {
	b, err := rec.encode()
	if err != nil {
		return err
	}
	for _, d := range s.dirs {
		if _, err := s.fsys.Stat(d); errors.Is(err, fs.ErrNotExist) && len(s.dirs) > 1 {
			continue
		}
		if _, err := writeRecord(s.fsys, d, b, true); err != nil {
			return err
		}
	}
	return nil
}
