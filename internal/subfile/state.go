package subfile

import (
	"errors"
	"fmt"
	"io/fs"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Partial reports whether an uncommitted writer used partial names for all subfiles. Files with final names then do not belong to
// this writer. Partial returns true for a torn announcement, because a writer that uses final names syncs its announcement before
// it creates subfiles, unless it wants no durability.
func (s *State) Partial() bool {
	if s.Intent == nil {
		return s.NextErr != nil
	}
	return s.Intent.Writer != "" && !s.Intent.Finals
}

// Known returns records that list files of the dataset, besides the record in force: the announcement of a writer that uses final
// names before its commit, and the record that a pending commit replaces.
func (s *State) Known(fsys vfs.FS, base string) (known []*Manifest, err error) {
	fsys = vfs.OrOS(fsys)
	if s.Intent != nil && !s.Partial() {
		known = append(known, s.Intent)
	}
	if !s.Pending {
		return known, nil
	}
	old, err := readManifest(fsys, base, ManifestName(base))
	switch {
	case err == nil:
		known = append(known, old)
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*fault.FormatError)): // not in force, so damage is harmless
		err = nil
	}
	return known, err
}

// A State is a dataset's state according to its manifests.
type State struct {
	Manifest *Manifest // the record in force with the commits of its log; nil for a foreign dataset
	Record   *Manifest // the record without the commits of its log
	LogEnd   int64     // length of the commits in the log
	LogTorn  int64     // bytes after LogEnd: an incomplete commit
	Pending  bool      // the record in force is a prepared .manifest.next, because its commit was interrupted
	NextErr  error     // error of an ignored .manifest.next, or nil
	Writing  bool      // an unprepared or torn .manifest.next exists: a writer is active or has died
	Intent   *Manifest // the unprepared record, unless torn
	Flaws    []error   // errors of records and log entries that have one damaged copy
	Lost     error     // set by ReadForced: damage that may hide commits
}

// ReadState reads the manifests of the dataset base. A dataset without manifests is foreign: Manifest is nil and there is no
// error. An unfinished dataset gives blob.ErrNotCommitted and a State. An unreadable record gives an error and no State, because
// only the content of a record shows whether it is prepared.
func ReadState(fsys vfs.FS, base string) (*State, error) { return readState(fsys, base, false) }

// ReadForced is ReadState, but ignores commits that damage has made unreadable: a .manifest.next that may be a commit, and the
// log after the damage.
func ReadForced(fsys vfs.FS, base string) (*State, error) { return readState(fsys, base, true) }

func readState(fsys vfs.FS, base string, force bool) (*State, error) {
	fsys = vfs.OrOS(fsys)
	for {
		st, err := readRecords(fsys, base, force)
		if st == nil || st.Manifest == nil {
			return st, err
		}
		st.Record = st.Manifest
		if st.Record.flaw != nil {
			st.Flaws = append(st.Flaws, st.Record.flaw)
		}
		if st.Record.Log == "" {
			return st, err
		}
		if err = st.readLog(fsys, base, force); err == nil {
			return st, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		// The log is removed together with the record that names it.
		again, err := readRecords(fsys, base, force)
		if err != nil {
			return nil, err
		}
		if m := again.Manifest; m != nil && m.ID == st.Record.ID && m.Log == st.Record.Log && again.Pending == st.Pending {
			lost := bad(LogName(base, m.Log), -1, "log", fault.ErrMissing, "missing, but the manifest names this log, so commits may be lost")
			if !force {
				return nil, lost
			}
			st.Lost = lost
			return st, nil
		}
	}
}

// readRecords is ReadState without the log.
func readRecords(fsys vfs.FS, base string, force bool) (*State, error) {
	st := new(State)
	next, torn, nerr := readSeal(fsys, base, NextName(base))
	switch {
	case nerr == nil && next.Prepared:
		st.Manifest, st.Pending = next, true
		return st, nil
	case errors.Is(nerr, fs.ErrNotExist):
	case nerr != nil && !errors.As(nerr, new(*fault.FormatError)):
		return nil, nerr // it may be a commit, and ignoring a commit would undo it
	case errors.Is(nerr, fault.ErrChecksum) && !torn && !force: // complete but damaged, so it may be a commit, too
		return nil, nerr
	default:
		if errors.Is(nerr, fault.ErrChecksum) && !torn {
			st.Lost = nerr
		}
		st.Writing, st.NextErr, st.Intent = true, nerr, next
	}
	m, err := readManifest(fsys, base, ManifestName(base))
	switch {
	case err == nil:
		st.Manifest = m
		return st, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case st.Writing:
		if again, rerr := readManifest(fsys, base, NextName(base)); errors.Is(rerr, fs.ErrNotExist) || rerr == nil && again.Prepared {
			return readRecords(fsys, base, force) // the writer has committed since the record was read
		}
		return st, fmt.Errorf("%s: the dataset was never finished, because %s is not a commit: %w", base, NextName(base), fault.ErrNotCommitted)
	}
	return st, nil
}
