package subfile

import (
	"errors"
	"io/fs"
	"path/filepath"

	"blobio/internal/vfs"
)

// WriteNext writes the record under its .manifest.next name, in the place of
// one that is there. With sync the record and its name are durable when it returns. check says whether the
// writer still holds its lease: it is called when the record is complete, immediately before it gets its name, which is
// the order that package durable wants. nil: nobody else can write.
func WriteNext(fsys vfs.FS, base string, m *Manifest, sync bool, check func() error) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	// The record is written aside and renamed, so that it is never seen torn:
	// beside a dataset of another program a torn record would say that it was never finished.
	tmp := PartialBy(NextName(base), m.Writer)
	if err := removeIfThere(fsys, tmp); err != nil { // what lies there is not opened: it may be a link
		return err
	}
	if err = writeRecord(fsys, tmp, b, sync); err == nil && sync && m.Prepared {
		// The names of the subfiles must be durable before the record that counts on them.
		err = fsys.SyncDir(dirOf(base))
	}
	if err == nil && check != nil {
		err = check()
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

// DropNext takes back what WriteNext wrote for the writer with this tag. The record of another writer stays: so
// it is looked at under a name that nobody else uses before it is removed.
func DropNext(fsys vfs.FS, base, writer string) error {
	next, mine := NextName(base), PartialBy(NextName(base), writer)
	if err := removeIfThere(fsys, mine); err != nil {
		return err
	}
	switch err := fsys.Rename(next, mine); {
	case errors.Is(err, fs.ErrNotExist):
		return fsys.SyncDir(dirOf(base))
	case err != nil:
		return err
	}
	if m, err := readManifest(fsys, mine); err == nil && m.Writer != writer {
		return fsys.Rename(mine, next)
	}
	if err := fsys.Remove(mine); err != nil {
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
// that are left, then the record. It may be repeated. sync makes the names durable; check is that of WriteNext.
func Finish(fsys vfs.FS, base string, m *Manifest, sync bool, check func() error) error {
	dir := dirOf(base)
	for _, s := range m.Sets {
		for i := range s.Subfiles {
			name := filepath.Join(dir, Name(s.Base, i))
			if err := fsys.Rename(PartialBy(name, m.Writer), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	err := fsys.Rename(NextName(base), ManifestName(base))
	if errors.Is(err, fs.ErrNotExist) { // somebody else has done it, if it is this record
		if now, rerr := readManifest(fsys, ManifestName(base)); rerr == nil && now.ID == m.ID && now.Writer == m.Writer && now.Records == m.Records {
			err = nil
		}
	}
	if err != nil {
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
//
// The caller holds the lease of base; check is that of WriteNext.
func Recover(fsys vfs.FS, base string, check func() error) (*Manifest, error) {
	// A former holder that is not dead must not be able to commit any more before the state is read.
	if err := removeRecords(fsys, base); err != nil {
		return nil, err
	}
	st, err := ReadState(fsys, base)
	never := errors.Is(err, ErrNotCommitted)
	if err != nil && !never {
		return nil, err
	}
	if st.Pending {
		if err := Finish(fsys, base, st.Manifest, true, check); err != nil {
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
	return st.Manifest, removePartials(fsys, base)
}

// removeRecords removes records that have not got their name yet.
func removeRecords(fsys vfs.FS, base string) error {
	dir, name := dirOf(base), filepath.Base(NextName(base))
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if final, _, ok := Final(e.Name()); ok && final == name {
			if err := removeIfThere(fsys, filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
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

// removePartials removes what unfinished writers left of the dataset base:
// the partial subfiles of all sets and the .manifest.next. Final names stay.
func removePartials(fsys vfs.FS, base string) error {
	partials, err := Partials(fsys, base)
	if err != nil {
		return err
	}
	for _, n := range append(partials, NextName(base)) {
		if err := removeIfThere(fsys, n); err != nil {
			return err
		}
	}
	return nil
}

// Partials returns the partial subfiles of base, of all sets and writers.
func Partials(fsys vfs.FS, base string) (list []string, err error) {
	dir, name := dirOf(base), filepath.Base(base)
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		if _, _, ok := Split(e.Name()); ok && filepath.Ext(e.Name()) == partialSuffix && Base(e.Name()) == name {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, err
}

// Rehome gives the subfiles of a variable-centric dataset, which grow in place, new files with the same bytes: a writer that may
// still have the old ones open then writes to what has no name any more. tag is that of the writer that holds the lease.
func Rehome(fsys vfs.FS, base string, m *Manifest, tag string, sync bool) error {
	dir := dirOf(base)
	for _, s := range m.Sets {
		for i := range s.Subfiles {
			name := filepath.Join(dir, Name(s.Base, i))
			if err := copyFile(fsys, name, PartialBy(name, tag), s.Subfiles[i].Size, sync); err != nil {
				return err
			}
			if err := fsys.Rename(PartialBy(name, tag), name); err != nil {
				return err
			}
		}
	}
	if sync {
		return fsys.SyncDir(dir)
	}
	return nil
}

// copyFile copies the first n bytes of a file to a new one.
func copyFile(fsys vfs.FS, from, to string, n int64, sync bool) error {
	src, err := fsys.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := fsys.Create(to)
	if err != nil {
		return err
	}
	buf := make([]byte, min(n, 4<<20))
	for off := int64(0); off < n && err == nil; off += int64(len(buf)) {
		b := buf[:min(n-off, int64(len(buf)))]
		var k int
		if k, err = src.ReadAt(b, off); k == len(b) {
			_, err = dst.WriteAt(b, off)
		}
	}
	if err == nil && sync {
		err = dst.Sync()
	}
	if err = errors.Join(err, dst.Close()); err != nil {
		_ = fsys.Remove(to) // the copy is incomplete; the error is reported
	}
	return err
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
