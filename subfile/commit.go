package subfile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/internal/durable"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// By is the writer that changes a dataset.
type By struct {
	Tag   string       // in the names of its files
	Check func() error // says whether it still holds the lease; nil: nobody else can write
	// Shared says that the lease may be lost between Check and what follows, since locks do not reach all machines.
	Shared bool
	// Holds says of a file with the name of subfile i whether it is one, by what is in it; nil: none is.
	Holds func(name string, i int) (bool, error)
}

func (b By) check() error {
	if b.Check == nil {
		return nil
	}
	return b.Check()
}

// discard removes a file that may be another writer's when this one was stopped for long: so it is first given a name of our own, and gets its
// own back if the lease is lost by then.
func (b By) discard(fsys vfs.FS, name string) error {
	final, _, _ := Final(name)
	mine := PartialBy(final, b.Tag)
	if b.Tag == "" || mine == name {
		return durable.Remove(fsys, name)
	}
	if err := b.check(); err != nil {
		return err
	}
	if err := fsys.Rename(name, mine); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := b.check(); err != nil {
		return errors.Join(err, fsys.Rename(mine, name))
	}
	return durable.Remove(fsys, mine)
}

// WriteNext writes the record under its .manifest.next name, in the place of
// one that is there. With sync the record and its name are durable when it returns. by.Check is called when the record is complete, immediately
// before it gets its name, which is the order that package durable wants.
func WriteNext(fsys vfs.FS, base string, m *Manifest, sync bool, by By) error {
	fsys = vfs.OrOS(fsys)
	b, err := m.Encode()
	if err != nil {
		return err
	}
	// The record is written aside and renamed, so that it is never seen torn:
	// beside a dataset of another program a torn record would say that it was never finished.
	tmp := PartialBy(NextName(base), m.Writer)
	if err := durable.Remove(fsys, tmp); err != nil { // what lies there is not opened: it may be a link
		return err
	}
	if err = writeRecord(fsys, tmp, b, sync); err == nil && sync && m.Prepared {
		// The names of the subfiles must be durable before the record that counts on them.
		err = fsys.SyncDir(dirOf(base))
	}
	if err == nil {
		err = by.check()
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

// DropNext takes back what WriteNext wrote for the writer with this tag. The record of another writer stays. To
// be sure, it is renamed to a name that nobody else uses and looked at before it is removed.
func DropNext(fsys vfs.FS, base, writer string) error {
	fsys = vfs.OrOS(fsys)
	return dropNext(fsys, base, writer, func(m *Manifest) bool { return m.Writer == writer })
}

// dropNext removes the .manifest.next if it can be read and is what goes, or cannot be read. tag is of who does it.
func dropNext(fsys vfs.FS, base, tag string, goes func(*Manifest) bool) error {
	next, mine := NextName(base), PartialBy(NextName(base), tag)
	if err := durable.Remove(fsys, mine); err != nil {
		return err
	}
	switch err := fsys.Rename(next, mine); {
	case errors.Is(err, fs.ErrNotExist):
		return fsys.SyncDir(dirOf(base))
	case err != nil:
		return err
	}
	if m, err := readManifest(fsys, mine); err == nil && !goes(m) {
		return fsys.Rename(mine, next)
	}
	if err := fsys.Remove(mine); err != nil {
		return err
	}
	return fsys.SyncDir(dirOf(base))
}

// Finish makes a prepared record the manifest: it renames the partial subfiles
// that are left, then the record. It may be repeated. sync makes the names durable.
func Finish(fsys vfs.FS, base string, m *Manifest, sync bool, by By) error {
	fsys = vfs.OrOS(fsys)
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
	if err := by.check(); err != nil {
		return err
	}
	if by.Shared {
		return finishShared(fsys, base, m, sync, by)
	}
	if err := fsys.Rename(NextName(base), ManifestName(base)); err != nil {
		return err
	}
	if sync {
		return fsys.SyncDir(dir)
	}
	return nil
}

// finishShared gives the record its final name where the .manifest.next may be another writer's by the time it is
// renamed: so a copy gets the name, and the record itself goes only if it is the one that was copied.
func finishShared(fsys vfs.FS, base string, m *Manifest, sync bool, by By) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	tmp := PartialBy(ManifestName(base), by.Tag)
	if err = durable.Remove(fsys, tmp); err == nil {
		err = writeRecord(fsys, tmp, b, sync)
	}
	if err == nil {
		err = by.check()
	}
	if err == nil {
		err = fsys.Rename(tmp, ManifestName(base))
	}
	if err != nil {
		_ = fsys.Remove(tmp)
		return err
	}
	if sync {
		if err := fsys.SyncDir(dirOf(base)); err != nil {
			return err
		}
	}
	return dropNext(fsys, base, by.Tag, func(o *Manifest) bool { return o.ID == m.ID && o.Writer == m.Writer && o.Records == m.Records })
}

// Recover brings a dataset to a clean state before it is written again: a
// prepared commit is finished, an unprepared one is removed with the
// subfiles that belong to it, and so are subfiles that the manifest does not
// list (see Stale). The dataset of another program stays as it is. It returns the manifest in force, nil if none.
//
// The caller, by, holds the lease of base.
func Recover(fsys vfs.FS, base string, by By) (*Manifest, error) {
	fsys = vfs.OrOS(fsys)
	// A former holder that is not dead must not be able to commit any more before the state is read.
	if err := removeRecords(fsys, base, by); err != nil {
		return nil, err
	}
	st, err := ReadState(fsys, base)
	never := errors.Is(err, fault.ErrNotCommitted)
	if err != nil && !never {
		return nil, err
	}
	known, err := st.Known(fsys, base)
	if err != nil {
		return nil, err
	}
	if st.Pending {
		if err := Finish(fsys, base, st.Manifest, true, by); err != nil {
			return nil, err
		}
	}
	m := st.Manifest // of another program's dataset: nil
	if never && !st.Partial() {
		m = &Manifest{} // lists nothing
	}
	if m != nil {
		// Without the record of the unfinished commit its subfiles would look like a
		// dataset of another program, so they go first.
		if err := RemoveStale(fsys, base, m, by, known...); err != nil {
			return nil, err
		}
	}
	return st.Manifest, removePartials(fsys, base, by)
}

// removeRecords removes records that have not got their name yet, for good.
func removeRecords(fsys vfs.FS, base string, by By) error {
	records, err := Records(fsys, base)
	if err != nil {
		return err
	}
	removed := false
	for _, name := range records {
		if _, tag, _ := Final(name); tag != "" && tag == by.Tag {
			continue
		}
		if err := by.check(); err != nil {
			return err
		}
		if err := durable.Remove(fsys, name); err != nil {
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return fsys.SyncDir(dirOf(base))
}

// Records returns the records of base that have not got their name yet, of all writers.
func Records(fsys vfs.FS, base string) (list []string, err error) {
	fsys = vfs.OrOS(fsys)
	dir, next, manifest := dirOf(base), filepath.Base(NextName(base)), filepath.Base(ManifestName(base))
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		if final, _, ok := Final(e.Name()); ok && (final == next || final == manifest) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, err
}

// RemoveStale removes what Stale lists, for good.
func RemoveStale(fsys vfs.FS, base string, m *Manifest, by By, known ...*Manifest) error {
	fsys = vfs.OrOS(fsys)
	stale, err := Stale(fsys, base, m, by.Holds, known...)
	if err != nil || len(stale) == 0 {
		return err
	}
	for _, name := range stale {
		if err := by.discard(fsys, name); err != nil {
			return err
		}
	}
	return fsys.SyncDir(dirOf(base))
}

// removePartials removes what unfinished writers left of the dataset base:
// the partial subfiles of all sets and the .manifest.next. Final names stay.
func removePartials(fsys vfs.FS, base string, by By) error {
	partials, err := Partials(fsys, base)
	if err != nil {
		return err
	}
	for _, n := range append(partials, NextName(base)) {
		if err := by.discard(fsys, n); err != nil {
			return err
		}
	}
	return nil
}

// Partials returns the partial subfiles of base, of all sets and writers.
func Partials(fsys vfs.FS, base string) (list []string, err error) {
	fsys = vfs.OrOS(fsys)
	dir, name := dirOf(base), filepath.Base(base)
	entries, err := fsys.ReadDir(dir)
	others := othersIn(entries, name)
	for _, e := range entries {
		if set, _, ok := Split(e.Name()); ok && filepath.Ext(e.Name()) == partialSuffix && Base(e.Name()) == name && !others[set] {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, err
}

// Rehome gives the subfiles of a variable-centric dataset, which grow in place, new files with the same bytes: a writer that may
// still have the old ones open then writes to what has no name any more.
func Rehome(fsys vfs.FS, base string, m *Manifest, by By, sync bool) error {
	fsys = vfs.OrOS(fsys)
	dir := dirOf(base)
	for _, s := range m.Sets {
		for i := range s.Subfiles {
			name := filepath.Join(dir, Name(s.Base, i))
			if err := copyFile(fsys, name, PartialBy(name, by.Tag), s.Subfiles[i].Size, sync); err != nil {
				return err
			}
			if err := by.check(); err != nil {
				return err
			}
			if err := fsys.Rename(PartialBy(name, by.Tag), name); err != nil {
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

// Stale returns the final names of base that the manifest m does not list: what a wider dataset of the same name,
// replaced by this one, left behind, or a dead writer that did not use partial names. A file of such a name may be
// anybody's ("F.nc.2024"): it counts only if another record lists it (known, of which some may be nil), or holds says
// that it is a subfile. Files of a dataset "F.nc+1" that has a record of its own do not count.
func Stale(fsys vfs.FS, base string, m *Manifest, holds func(name string, i int) (bool, error), known ...*Manifest) ([]string, error) {
	fsys = vfs.OrOS(fsys)
	dir, name := dirOf(base), filepath.Base(base)
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	keep, listed := map[string]bool{}, map[string]bool{}
	m.eachName(func(name string) { keep[name] = true })
	for _, k := range known {
		k.eachName(func(name string) { listed[name] = true })
	}
	var stale []string
	others := othersIn(entries, name)
	for _, e := range entries {
		set, i, ok := Split(e.Name())
		if !ok || filepath.Ext(e.Name()) == partialSuffix || Base(e.Name()) != name || keep[e.Name()] || others[set] || !isFile(fsys, dir, e) {
			continue
		}
		file, is := filepath.Join(dir, e.Name()), listed[e.Name()]
		if !is && holds != nil {
			if is, err = holds(file, i); err != nil {
				return nil, err
			}
		}
		if is {
			stale = append(stale, file)
		}
	}
	return stale, nil
}

// othersIn returns the names of datasets in a directory that have records, or a writer, of their own: "F.nc+1" may be one, and is then
// no appended set of "F.nc".
func othersIn(entries []fs.DirEntry, name string) map[string]bool {
	others := map[string]bool{}
	for _, e := range entries {
		b, is := durable.LockOf(e.Name())
		for _, suffix := range []string{nextSuffix, manifestSuffix} {
			if !is {
				b, is = strings.CutSuffix(e.Name(), suffix)
			}
		}
		if is && b != name {
			others[b] = true
		}
	}
	return others
}

// Lists says whether a file, named without directory, is one of the record's.
func (m *Manifest) Lists(name string) (is bool) {
	m.eachName(func(n string) { is = is || n == name })
	return is
}

// eachName calls f with the names of all subfiles, without directory.
func (m *Manifest) eachName(f func(name string)) {
	if m == nil {
		return
	}
	for _, s := range m.Sets {
		for i := range s.Subfiles {
			f(Name(s.Base, i))
		}
	}
}

// Dir returns the directory that holds the dataset base, never empty.
func Dir(base string) string { return dirOf(base) }

func dirOf(base string) string { return filepath.Dir(base) }
