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
	"blobio/internal/durable"
	"blobio/internal/fault"
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
		if err := durable.Rename(s.fsys, f.File, filepath.Join(filepath.Dir(f.File), leftPrefix+filepath.Base(f.File))); err != nil {
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
		s.left = append(s.left, Finding{Severity: fault.Error, File: p, Offset: -1, Msg: fault.Text(fmt.Errorf(format, args...))})
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
		return pkg.Errorf("%s: no record, and no file that says what it is of: %w", s.dirs[0], ErrMissing)
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
		if err := writeRecord(s.fsys, d, b, true); err != nil {
			return err
		}
	}
	return nil
}
