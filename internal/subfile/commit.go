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

// By is the writer that changes a dataset.
type By struct {
	Tag   string       // in the names of its files
	Check func() error // returns an error unless it still holds the lease; nil: nobody else can write
	// Shared means that the lease may be lost just after a Check, since locks do not reach all machines.
	Shared bool
	// Holds reports whether a file with the name of subfile i is one, by its content; nil: none is.
	Holds func(name string, i int) (bool, error)
	// Force gives up the commits that damage has made unreadable, see ReadForced. Else Recover changes nothing where there may be some.
	Force bool
	// Room cuts off bytes that no commit has from the growing files of a state, and reports whether there were any; nil where a former writer may be alive. For
	// Recover, on a disk that is full.
	Room func(m *Manifest) (made bool, err error)
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
	return durable.RemoveIf(fsys, name, mine, func() (bool, error) {
		err := b.check()
		return err == nil, err
	})
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
	if err := readable(ManifestName(base), int64(len(b))); err != nil {
		return err
	}
	// It is never seen torn: beside a dataset of another program a torn record would say that it was never finished.
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
		if sync && m.Prepared { // the names of the subfiles must be durable before the record that counts on them
			if err := fsys.SyncDir(Dir(base)); err != nil {
				return err
			}
		}
		return by.check()
	})
	if err == nil && by.Shared && m.Prepared {
		err = whole(ManifestName(base), copyName(base, by), nil) // for finishShared
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
		return u.Err // DropNext makes sure
	}
	return err
}

// DropNext removes the announcement that WriteNext wrote for the writer with this tag. The record of another writer stays. To
// be sure, it is renamed to a name that nobody else uses and looked at before it is removed.
func DropNext(fsys vfs.FS, base, writer string) error {
	fsys = vfs.OrOS(fsys)
	err := durable.Remove(fsys, PartialBy(NextName(base), writer)) // a record that had not got its name
	if err == nil {
		err = dropNext(fsys, base, writer, nil, func(m *Manifest) bool { return m.Writer == writer })
	}
	if err != nil {
		return err
	}
	return fsys.SyncDir(Dir(base))
}

// dropNext removes the .manifest.next if it is known, or goes accepts it, or it is torn. One that cannot be read may be another writer's commit, and stays. tag is the caller's.
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

// holds reports whether a file holds just these bytes.
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

// Finish makes a prepared record the manifest: it renames the partial subfiles
// that are left, then the record. It may be repeated. sync makes the names durable.
func Finish(fsys vfs.FS, base string, m *Manifest, sync bool, by By) error {
	fsys = vfs.OrOS(fsys)
	// The subfiles' names must be durable before the record loses its pending
	// name: afterwards nobody looks for partial names any more. finishShared syncs the directory before that.
	if err := durable.RenameAll(fsys, m.partials(Dir(base)), sync && !by.Shared); err != nil {
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

// partials are the partial names of the subfiles of all sets, each with its final one.
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

// finishShared gives the record its final name where the .manifest.next may be another writer's by the time it is
// renamed: so a copy gets the name, and the record itself goes only if it is the one that was copied. Until it is gone it is in force: so the
// names of copy and subfiles become durable together.
func finishShared(fsys vfs.FS, base string, m *Manifest, sync bool, by By) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	// The copy that WriteNext has made is renamed without another Check: whoever has taken over since has removed it.
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

// copyName is the name of the record's copy until it gets its final name.
func copyName(base string, by By) string { return PartialBy(ManifestName(base), by.Tag) }

// Recover brings a dataset to a clean state before it is written again: a
// prepared commit is finished, the commits of a log are folded into the manifest, an unprepared commit is removed with the
// subfiles that belong to it, and so are subfiles that the manifest does not
// list (see Stale). The dataset of another program stays as it is. It returns the manifest in force, nil if none.
//
// Where there is no space for that, what belongs to no committed state goes first (By.Room).
//
// The caller, by, holds the lease of base.
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

// makeRoom removes files that belong to no committed state, beside one that is in force, and reports whether there were any. It writes nothing.
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
	// A former holder that is not dead must not be able to commit any more before the state is read.
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
	} else if m != nil && m.flaw != nil { // both copies are to be good again
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
	// A file with a partial name could get its final one as long as it is there.
	if err := removePartials(fsys, base, by); err != nil {
		return nil, err
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
	if err := removeLogs(fsys, base, by); err != nil {
		return nil, err
	}
	return st.Manifest, by.discard(fsys, NextName(base))
}

// Rehome gives the last set's subfiles of a variable-centric dataset, which grow in place, new files with the same bytes: a writer that may
// still have the old ones open then writes to files without a name.
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

// rehome gives the name of a file to a new one with its first n bytes.
func rehome(fsys vfs.FS, name string, n int64, by By, sync bool) error {
	t, err := durable.CreateTemp(fsys, name, durable.TempOptions{Temp: PartialBy(name, by.Tag), Check: by.check, Sync: sync})
	if err != nil {
		return err
	}
	if err = copyFile(fsys, name, t, n); err == nil {
		err = t.Commit()
	}
	if err != nil {
		t.Discard() // the error is reported
	}
	return err
}

// Unshare gives a file that has other names, too (hard links), a new one with its first n bytes, before it is written to in place: the other names keep
// the old content.
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

// copyFile copies the first n bytes of a file to a new one.
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
