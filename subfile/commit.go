package subfile

import (
	"errors"
	"io/fs"
	"path/filepath"

	"blobio/internal/vfs"
)

// WriteNext writes the record under its .manifest.next name, in the place of
// one that is there. With sync the record and its name are durable when it returns.
func WriteNext(fsys vfs.FS, base string, m *Manifest, sync bool) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	// The record is written aside and renamed, so that it is never seen torn:
	// beside a dataset of another program a torn record would say that it was never finished.
	tmp := Partial(NextName(base))
	if err = writeRecord(fsys, tmp, b, sync); err == nil && sync && m.Prepared {
		// The names of the subfiles must be durable before the record that counts on them.
		err = fsys.SyncDir(dirOf(base))
	}
	if err == nil {
		err = fsys.Rename(tmp, NextName(base))
	}
	if err != nil {
		_ = fsys.Remove(tmp) // the error is reported; what is left is removed by the next writer
		return err
	}
	if sync {
		return fsys.SyncDir(dirOf(base))
	}
	return nil
}

func writeRecord(fsys vfs.FS, name string, b []byte, sync bool) error {
	f, err := fsys.Create(name)
	if errors.Is(err, fs.ErrExist) { // a dead writer left it
		if f, err = fsys.OpenRW(name); err == nil {
			if err = f.Truncate(0); err != nil {
				return errors.Join(err, f.Close())
			}
		}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// DropNext removes a record that was not, or not wholly, written.
func DropNext(fsys vfs.FS, base string) error {
	if err := removeIfThere(fsys, NextName(base)); err != nil {
		return err
	}
	return fsys.SyncDir(dirOf(base))
}

func removeIfThere(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Finish makes a prepared record the manifest: it renames the partial subfiles
// that are left, then the record. It may be repeated. sync makes the names durable.
func Finish(fsys vfs.FS, base string, m *Manifest, sync bool) error {
	dir := dirOf(base)
	for _, s := range m.Sets {
		for i := range s.Subfiles {
			name := filepath.Join(dir, Name(s.Base, i))
			if err := fsys.Rename(Partial(name), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	// The subfiles' names must be durable before the record loses its pending
	// name: afterwards nobody looks for partial names any more.
	if sync {
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
	}
	if err := fsys.Rename(NextName(base), ManifestName(base)); err != nil {
		return err
	}
	if sync {
		return fsys.SyncDir(dir)
	}
	return nil
}

// Recover brings a dataset to a clean state before it is written again: a
// prepared commit is finished, an unprepared one is removed with the
// subfiles that belong to it, and so are subfiles that the manifest does not
// list. The dataset of another program stays as it is. It returns the manifest in force, nil if none.
func Recover(fsys vfs.FS, base string) (*Manifest, error) {
	st, err := ReadState(fsys, base)
	never := errors.Is(err, ErrNotCommitted)
	if err != nil && !never {
		return nil, err
	}
	if st.Pending {
		if err := Finish(fsys, base, st.Manifest, true); err != nil {
			return nil, err
		}
	}
	m := st.Manifest // of another program's dataset: nil
	if never {
		m = &Manifest{} // lists nothing
	}
	if m != nil {
		// Without the record of the unfinished commit its subfiles would look like a
		// dataset of another program, so they go first.
		if err := RemoveStale(fsys, base, m); err != nil {
			return nil, err
		}
	}
	return st.Manifest, RemovePartials(fsys, base)
}

// RemoveStale removes what Stale lists, for good.
func RemoveStale(fsys vfs.FS, base string, m *Manifest) error {
	stale, err := Stale(fsys, base, m)
	if err != nil || len(stale) == 0 {
		return err
	}
	for _, name := range stale {
		if err := removeIfThere(fsys, name); err != nil {
			return err
		}
	}
	return fsys.SyncDir(dirOf(base))
}

// RemovePartials removes what an unfinished writer left of the dataset base:
// the partial subfiles of all sets and the .manifest.next. Final names stay.
func RemovePartials(fsys vfs.FS, base string) error {
	dir, name := dirOf(base), filepath.Base(base)
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, _, ok := Split(e.Name()); ok && filepath.Ext(e.Name()) == partialSuffix && Base(e.Name()) == name {
			if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	for _, n := range []string{Partial(NextName(base)), NextName(base)} {
		if err := removeIfThere(fsys, n); err != nil {
			return err
		}
	}
	return nil
}

// Stale returns the final names of base that a manifest does not list: what a
// wider dataset of the same name, replaced by this one, left behind, or a dead
// writer that did not use partial names.
func Stale(fsys vfs.FS, base string, m *Manifest) ([]string, error) {
	dir, name := dirOf(base), filepath.Base(base)
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	keep := map[string]bool{}
	for _, s := range m.Sets {
		for i := range s.Subfiles {
			keep[Name(s.Base, i)] = true
		}
	}
	var stale []string
	for _, e := range entries {
		if _, _, ok := Split(e.Name()); ok && filepath.Ext(e.Name()) != partialSuffix && Base(e.Name()) == name && !keep[e.Name()] {
			stale = append(stale, filepath.Join(dir, e.Name()))
		}
	}
	return stale, nil
}

// Dir returns the directory that holds the dataset base, never empty.
func Dir(base string) string { return dirOf(base) }

func dirOf(base string) string { return filepath.Dir(base) }
