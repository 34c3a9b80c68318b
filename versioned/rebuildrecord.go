package versioned

import (
	"context"
	"errors"
	"path/filepath"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Rebuilt is what Rebuild did, or in a dry run would do.
type Rebuilt struct {
	Array    string        `json:"array"`
	Whole    bool          `json:"whole"`     // the seals were whole: there was nothing to do
	FromTwin bool          `json:"from_twin"` // a whole seal replaced the others
	Versions []VersionInfo `json:"versions"`  // of the seal, oldest first
	Left     []Finding     `json:"left"`      // files of versions that do not belong to any of them; they get names that begin with "left-"
}

// Rebuild restores the lost or damaged seal of an array: from its twin, or, if that is not sound, from the data files. dir and fsys are as
// of OpenView, and no array may have the store open. Data files give the versions whose chunks are all there and match the version's sum. Among
// them may be one whose commit was cut short, or one that was dropped. ErrMissing: there is neither a seal nor a data file that names its array.
func Rebuild(ctx context.Context, dir string, fsys vfs.FS, dryRun bool) (*Rebuilt, error) {
	s := &salvage{fsys: vfs.OrOS(fsys), dir: filepath.Clean(dir)}
	rec, bad := readRecords(s.fsys, s.dir)
	out := &Rebuilt{Array: filepath.Base(s.dir), Whole: rec != nil && errors.Join(bad...) == nil, Left: []Finding{}}
	for _, err := range bad {
		if err != nil && !unreadable(err) {
			return nil, err // it may be read another time
		}
		if errors.Is(err, fault.ErrVersion) {
			return nil, err // of a newer program, not damaged
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
	for _, f := range s.left { // nobody removes it
		if err := durable.Rename(s.fsys, f.File, filepath.Join(filepath.Dir(f.File), leftPrefix+filepath.Base(f.File))); err != nil {
			return nil, err
		}
	}
	return out, writeRecord(s.fsys, s.dir, rec, true)
}
