package versioned

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"blobio/internal/durable"
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
	Whole    bool          `json:"whole"`     // the seals were whole: there was nothing to do
	FromTwin bool          `json:"from_twin"` // a whole seal replaced the others
	Versions []VersionInfo `json:"versions"`  // of the seal, oldest first
	Left     []Finding     `json:"left"`      // files of versions that do not belong to any of them; they get names that begin with "left-"
}

// Rebuild restores the lost or damaged seal of an array: from its twin or another node's, or, if none is sound, from the data files. dirs are as
// of OpenView, and no array may have the store open. Data files give the versions whose chunks are all there and match the version's sum. Among
// them may be one whose commit was cut short, or one that was dropped. The next Open makes the redundancy again. ErrMissing: there is neither
// a seal nor a data file that names its array.
func Rebuild(ctx context.Context, dirs []string, o *RebuildOptions) (*Rebuilt, error) {
	if o == nil {
		o = &RebuildOptions{}
	}
	if len(dirs) == 0 {
		return nil, pkg.Usage("no directory")
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
