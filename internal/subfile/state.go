package subfile

import (
	"errors"
	"fmt"
	"io/fs"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Partial reports whether a writer that did not commit gave all subfiles partial names: files with final names are then not its
// own. So it is with a torn announcement: one with final names is synced before there are any, unless its writer wanted nothing to survive.
func (s *State) Partial() bool {
	if s.Intent == nil {
		return s.NextErr != nil
	}
	return s.Intent.Writer != "" && !s.Intent.Finals
}

// Known returns the records besides the one in force that list files of the dataset: the announcement, if its writer gives files their
// final names before its commit, and the record that a pending commit replaces.
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
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*fault.FormatError)): // it is not in force, so it may be damaged
		err = nil
	}
	return known, err
}

// A State is a dataset's state by its manifests: which one is in force, and whether a writer is at work.
type State struct {
	Manifest *Manifest // the record in force, with the commits of its log; nil for a foreign dataset
	Record   *Manifest // as its file has it
	LogEnd   int64     // bytes of the log that are commits
	LogTorn  int64     // bytes behind them: a commit that was cut short
	Pending  bool      // it is a prepared .manifest.next whose commit was cut short
	NextErr  error     // the error of the .manifest.next that is ignored; nil if there is none
	Writing  bool      // an unprepared or torn .manifest.next is there: a writer is at work, or died
	Intent   *Manifest // that record, if it is not torn
	Flaws    []error   // of records and entries of the log that are damaged in one of their two copies
	Lost     error     // to ReadForced: damage, behind which commits may be lost
}

// ReadState reads the manifests of the dataset base. A dataset without any
// is foreign: no error, Manifest nil. One that was never finished gives
// blob.ErrNotCommitted and a State. A record that cannot be read is an error, and no State:
// only one that was read can be called unprepared or torn.
func ReadState(fsys vfs.FS, base string) (*State, error) { return readState(fsys, base, false) }

// ReadForced is ReadState for callers that give up the commits that damage has made unreadable: an announcement that may have been a commit, and a log from the damage
// on.
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
		// It goes with the record that names it.
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
		return nil, nerr // it may be a commit; taking it for none would undo it
	case errors.Is(nerr, fault.ErrChecksum) && !torn && !force: // it may be a commit, too: it was written to its end, and is damaged
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
			return readRecords(fsys, base, force) // its writer has committed meanwhile
		}
		return st, fmt.Errorf("%s: the dataset was never finished, because %s is not a commit: %w", base, NextName(base), fault.ErrNotCommitted)
	}
	return st, nil
}
