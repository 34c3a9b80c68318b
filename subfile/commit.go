package subfile

import (
	"errors"
	"io/fs"
	"path/filepath"

	"blobio/internal/vfs"
)

// WriteNext writes the record under its .manifest.next name. With sync the
// record and its name are durable when it returns.
func WriteNext(fsys vfs.FS, base string, m *Manifest, sync bool) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	name := NextName(base)
	// A record that is there already is an intent of ours, or what a dead writer
	// left: it is not a commit, so it may be replaced in place. Should this be
	// cut short, the torn record is not a commit either.
	f, err := fsys.Create(name)
	if errors.Is(err, fs.ErrExist) {
		f, err = fsys.OpenRW(name)
	}
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(b, 0)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && sync {
		err = fsys.SyncDir(dirOf(base))
	}
	return err
}

// DropNext removes a record that was not, or not wholly, written.
func DropNext(fsys vfs.FS, base string) error {
	if err := fsys.Remove(NextName(base)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.SyncDir(dirOf(base))
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
// prepared commit is finished, an unprepared one is removed with the partial
// subfiles that belong to it. It returns the manifest in force, nil if none.
func Recover(fsys vfs.FS, base string) (*Manifest, error) {
	st, err := ReadState(fsys, base)
	if err != nil && !errors.Is(err, ErrNotCommitted) {
		return nil, err
	}
	if st.Pending {
		return st.Manifest, Finish(fsys, base, st.Manifest, true)
	}
	return st.Manifest, RemovePartials(fsys, base)
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
	if err := fsys.Remove(NextName(base)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Stale returns the final names of base that a manifest does not list: what a
// wider dataset of the same name, replaced by this one, left behind.
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
