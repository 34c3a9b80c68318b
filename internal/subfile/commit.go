package subfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path/filepath"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// By describes the writer that changes a dataset.
type By struct {
	Tag   string       // the writer's tag, which is part of its file names
	Check func() error // returns an error if the writer has lost the lease; nil: no other writer is possible
	// Shared means that the lease may be lost just after a Check, because locks do not reach all machines.
	Shared bool
	// Holds reports whether the file name has the content of subfile i. If Holds is nil, no file has such content.
	Holds func(name string, i int) (bool, error)
	// Force gives up commits that damage has made unreadable; see ReadForced. Without Force, Recover changes nothing if there may be
	// such commits.
	Force bool
	// Room truncates the growing files of a state to their committed bytes and reports whether it freed space. Recover calls Room
	// when the disk is full. Room is nil if a former writer may be alive.
	Room func(m *Manifest) (made bool, err error)
}

func (b By) check() error {
	if b.Check == nil {
		return nil
	}
	return b.Check()
}

// discard removes a file. If this writer was stopped for a long time, the file may belong to another writer by now. So discard
// first renames the file to a unique name, and restores the name if the lease is lost.
func (b By) discard(fsys vfs.FS, name string) error {
	final, _, _ := Final(name)
	mine := PartialBy(final, b.Tag)
	if b.Tag == "" || mine == name {
		return durable.Remove(fsys, name)
	}
	if err := b.check(); err != nil {
		return err
	}
	return durable.RemoveIf(fsys, name, mine, func() (bool, error) {
		err := b.check()
		return err == nil, err
	})
}

// WriteNext writes the record under the name .manifest.next and replaces an existing file. With sync, the record and its name are
// durable on return. WriteNext calls by.Check when the record is complete, just before the rename, as package durable requires.
func WriteNext(fsys vfs.FS, base string, m *Manifest, sync bool, by By) error {
	fsys = vfs.OrOS(fsys)
	b, err := m.Encode()
	if err != nil {
		return err
	}
	if err := readable(ManifestName(base), int64(len(b))); err != nil {
		return err
	}
	// The record is written under a temporary name, so that a reader never sees a torn record. Beside the dataset of another
	// program, a torn record would mean that this dataset was never finished.
	temps := make([]*durable.Temp, 0, 2)
	whole := func(name, temp string, check func() error) error {
		t, err := durable.CreateTemp(fsys, name, durable.TempOptions{Temp: temp, Sync: sync, Check: check})
		if err != nil {
			return err
		}
		temps = append(temps, t)
		if _, err := t.WriteAt(b, 0); err != nil {
			return err
		}
		return t.Finish()
	}
	err = whole(NextName(base), PartialBy(NextName(base), m.Writer), func() error {
		if sync && m.Prepared { // the names of the subfiles must be durable before the record that lists them
			if err := fsys.SyncDir(Dir(base)); err != nil {
				return err
			}
		}
		return by.check()
	})
	if err == nil && by.Shared && m.Prepared {
		err = whole(ManifestName(base), copyName(base, by), nil) // finishShared renames this copy
	}
	if err == nil {
		err = temps[0].Rename()
	}
	if err == nil && sync {
		err = fsys.SyncDir(Dir(base))
	}
	if err != nil {
		for _, t := range temps {
			t.Discard()
		}
	}
	if u := new(durable.UnsureError); errors.As(err, &u) {
		return u.Err // DropNext removes a record that got its name
	}
	return err
}

// DropNext removes the record .manifest.next of the writer with this tag. It first renames the record to a unique name and checks
// it. Another writer's record stays.
func DropNext(fsys vfs.FS, base, writer string) error {
	fsys = vfs.OrOS(fsys)
	err := durable.Remove(fsys, PartialBy(NextName(base), writer)) // a record without its final name yet
	if err == nil {
		err = dropNext(fsys, base, writer, nil, func(m *Manifest) bool { return m.Writer == writer })
	}
	if err != nil {
		return err
	}
	return fsys.SyncDir(Dir(base))
}

// dropNext removes the .manifest.next if it equals known, if goes accepts it, or if it is torn. An unreadable record stays,
// because it may be another writer's commit. tag is the tag of the caller.
func dropNext(fsys vfs.FS, base, tag string, known []byte, goes func(*Manifest) bool) error {
	mine := PartialBy(NextName(base), tag)
	return durable.RemoveIf(fsys, NextName(base), mine, func() (bool, error) {
		if known != nil {
			if is, err := holds(fsys, mine, known); is || err != nil {
				return is, err
			}
		}
		m, err := readManifest(fsys, base, mine)
		if err != nil && !errors.As(err, new(*fault.FormatError)) {
			return false, err
		}
		return err != nil || goes(m), nil
	})
}

// holds reports whether the content of a file equals b.
func holds(fsys vfs.FS, name string, b []byte) (same bool, err error) {
	err = vfs.Again(func() (read, err error) {
		f, err := vfs.OpenOwn(fsys, name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		got := make([]byte, len(b)+1)
		n, read := f.ReadAt(got, 0)
		if errors.Is(read, io.EOF) {
			read = nil
		}
		same = bytes.Equal(got[:n], b)
		return read, nil
	})
	return same, err
}

// Finish makes a prepared record the manifest: it renames the remaining partial subfiles, then the record. Finish may be
// repeated. With sync, the names are durable.
func Finish(fsys vfs.FS, base string, m *Manifest, sync bool, by By) error {
	fsys = vfs.OrOS(fsys)
	// The subfiles' names must be durable before the record is renamed, because partial names are ignored afterwards. finishShared
	// syncs the directory before that.
	if _, err := durable.RenameAll(fsys, m.partials(Dir(base)), sync && !by.Shared); err != nil {
		return err
	}
	if by.Shared {
		return finishShared(fsys, base, m, sync, by)
	}
	if err := by.check(); err != nil {
		return err
	}
	if !sync {
		return durable.Move(fsys, NextName(base), ManifestName(base))
	}
	return durable.Rename(fsys, NextName(base), ManifestName(base))
}

// partials returns the partial and final names of the subfiles of all sets.
func (m *Manifest) partials(dir string) iter.Seq2[string, string] {
	return func(yield func(from, to string) bool) {
		if m.settled {
			return
		}
		for _, s := range m.Sets {
			for i := range s.Subfiles {
				if name := filepath.Join(dir, Name(s.Base, i)); !yield(PartialBy(name, m.Writer), name) {
					return
				}
			}
		}
	}
}

// finishShared is the rename of Finish for a dataset whose .manifest.next another writer may replace just before the rename. It
// renames a copy of the record to the manifest. It then removes the record, but only if the record equals the copy. The record is
// in force until it is removed, so the names of the copy and the subfiles become durable together.
func finishShared(fsys vfs.FS, base string, m *Manifest, sync bool, by By) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	// The copy made by WriteNext needs no further Check, because a new writer would have removed it.
	if err := vfs.RenameFile(fsys, copyName(base, by), ManifestName(base)); errors.Is(err, fs.ErrNotExist) {
		if err := durable.Replace(fsys, ManifestName(base), b, durable.ReplaceOptions{Temp: copyName(base, by), Check: by.check, Sync: sync}); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if sync {
		if err := fsys.SyncDir(Dir(base)); err != nil {
			return err
		}
	}
	err = dropNext(fsys, base, by.Tag, b, func(o *Manifest) bool { return o.ID == m.ID && o.Writer == m.Writer && o.Records == m.Records })
	if err != nil || !sync {
		return err
	}
	return fsys.SyncDir(Dir(base))
}

// copyName is the temporary name of the record's copy.
func copyName(base string, by By) string { return PartialBy(ManifestName(base), by.Tag) }

// Recover brings a dataset to a clean state before it is written again. It finishes a prepared commit and folds the log into the
// manifest. It removes an unprepared commit with its subfiles, and subfiles that the manifest does not list; see Stale. Another
// program's dataset stays unchanged. Recover returns the manifest in force, or nil.
//
// If the disk is full, Recover frees space (see By.Room) and tries again. The caller by must hold the lease of base.
func Recover(fsys vfs.FS, base string, by By) (*Manifest, error) {
	fsys = vfs.OrOS(fsys)
	m, err := recoverOnce(fsys, base, by)
	if err == nil || by.Room == nil || !vfs.Full(err) {
		return m, err
	}
	if made, rerr := makeRoom(fsys, base, by); rerr != nil || !made {
		return nil, errors.Join(err, rerr)
	}
	return recoverOnce(fsys, base, by)
}

// makeRoom removes files that belong to no committed state if some state is in force. It reports whether it freed space. It only
// removes files.
func makeRoom(fsys vfs.FS, base string, by By) (made bool, err error) {
	st, err := readState(fsys, base, false)
	if err != nil || st.Manifest == nil {
		return false, err
	}
	if err := by.check(); err != nil {
		return false, err
	}
	if made, err = by.Room(st.Manifest); err != nil {
		return false, err
	}
	list, err := Partials(fsys, base)
	if err != nil {
		return false, err
	}
	known, err := st.Known(fsys, base)
	if err != nil {
		return false, err
	}
	stale, err := Stale(fsys, base, st.Manifest, by.Holds, known...)
	if err != nil {
		return false, err
	}
	for _, name := range append(list, stale...) {
		if _, tag, partial := Final(name); partial && st.Pending && tag == st.Record.Writer {
			continue
		}
		if err := by.discard(fsys, name); err != nil {
			return false, err
		}
		made = true
	}
	return made, nil
}

func recoverOnce(fsys vfs.FS, base string, by By) (*Manifest, error) {
	// A former holder that is still alive must be unable to commit before the state is read.
	if err := removeRecords(fsys, base, by); err != nil {
		return nil, err
	}
	st, err := readState(fsys, base, by.Force)
	if err == nil && st.Manifest != nil && st.Manifest.Log != "" {
		if err = takeLog(fsys, base, st, by); err == nil {
			st, err = readState(fsys, base, by.Force)
		}
	}
	never := errors.Is(err, fault.ErrNotCommitted)
	if err != nil && !never {
		return nil, err
	}
	known, err := st.Known(fsys, base)
	if err != nil {
		return nil, err
	}
	if st.Pending {
		if err := Finish(fsys, base, st.Record, true, by); err != nil {
			return nil, err
		}
	}
	if m := st.Manifest; m != nil && m.Log != "" {
		if st.Manifest, err = Fold(fsys, base, m, true, by); err != nil {
			return nil, err
		}
	} else if m != nil && m.flaw != nil { // restore the damaged copy
		whole := m.Clone()
		whole.settled, whole.flaw = true, nil
		err := WriteNext(fsys, base, whole, true, by)
		if err == nil {
			err = Finish(fsys, base, whole, true, by)
		}
		if err != nil {
			return nil, err
		}
	}
	// Otherwise a former writer could still rename a partial file to its final name.
	if err := removePartials(fsys, base, by); err != nil {
		return nil, err
	}
	m := st.Manifest // nil for another program's dataset
	if never && !st.Partial() {
		m = &Manifest{} // a manifest without files
	}
	if m != nil {
		// Remove the subfiles of the unfinished commit before its record. Without the record, the subfiles would look like the
		// dataset of another program.
		if err := RemoveStale(fsys, base, m, by, known...); err != nil {
			return nil, err
		}
	}
	if err := removeLogs(fsys, base, by); err != nil {
		return nil, err
	}
	return st.Manifest, by.discard(fsys, NextName(base))
}

// Rehome replaces the growing subfiles of the last set of a variable-centric dataset with copies. A former writer that still has
// the old files open then writes to files without a name.
func Rehome(fsys vfs.FS, base string, m *Manifest, by By, sync bool) error {
	fsys = vfs.OrOS(fsys)
	dir := Dir(base)
	for _, s := range m.Sets[max(len(m.Sets)-1, 0):] {
		for i := range s.Subfiles {
			if err := rehome(fsys, filepath.Join(dir, Name(s.Base, i)), s.Subfiles[i].Size, by, sync); err != nil {
				return err
			}
		}
	}
	if sync {
		return fsys.SyncDir(dir)
	}
	return nil
}

// rehome replaces a file with a copy of its first n bytes.
func rehome(fsys vfs.FS, name string, n int64, by By, sync bool) error {
	t, err := durable.CreateTemp(fsys, name, durable.TempOptions{Temp: PartialBy(name, by.Tag), Check: by.check, Sync: sync})
	if err != nil {
		return err
	}
	if err = copyFile(fsys, name, t, n); err == nil {
		err = t.Commit()
	}
	if err != nil {
		t.Discard() // the caller gets the first error
	}
	return err
}

// Unshare replaces a file that has hard links with a copy of its first n bytes, before it is changed in place. The other names
// keep the old content.
func Unshare(fsys vfs.FS, name string, n int64, by By, sync bool) error {
	info, err := fsys.Stat(name)
	if err != nil || vfs.Links(info) == 1 {
		return err
	}
	if err := rehome(fsys, name, n, by, sync); err != nil || !sync {
		return err
	}
	return fsys.SyncDir(Dir(name))
}

// copyFile copies the first n bytes of the file from to dst.
func copyFile(fsys vfs.FS, from string, dst vfs.File, n int64) error {
	src, err := fsys.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	buf := make([]byte, min(n, 4<<20))
	for off := int64(0); off < n && err == nil; off += int64(len(buf)) {
		b := buf[:min(n-off, int64(len(buf)))]
		var k int
		if k, err = src.ReadAt(b, off); k == len(b) {
			_, err = dst.WriteAt(b, off)
		}
	}
	return err
}
