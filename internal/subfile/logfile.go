package subfile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// A Log is the file for a writer's commits after the first. It stays open. A new writer replaces it with a copy, so later entries
// of this writer go to a file without a name.
type Log struct {
	fsys vfs.FS
	name string
	file vfs.File
	end  int64
}

// CreateLog creates the log of the writer with this tag. The directory sync that precedes the manifest makes the log's name
// durable.
func CreateLog(fsys vfs.FS, base, tag string) (*Log, error) {
	name := LogName(base, tag)
	fsys = vfs.OrOS(fsys)
	f, err := fsys.Create(name)
	if err != nil {
		return nil, err
	}
	return &Log{fsys: fsys, name: name, file: f}, nil
}

// Check returns an error if the log was renamed, removed or replaced. New entries would then not belong to this dataset.
func (l *Log) Check() error {
	is, err := vfs.Named(l.fsys, l.file, l.name)
	if err == nil && !is {
		err = bad(l.name, -1, "log", fault.ErrMissing, "the log was renamed, removed or replaced while its writer was active, so nothing more is committed")
	}
	return err
}

// Add commits an entry; with sync, the entry is durable on return. Add calls by.Check before and after the write. If the lease is
// lost in between, the new writer may or may not have read the entry. After a durable.UnsureError, the entry may be in force.
// After any other error, it is not.
func (l *Log) Add(e *Entry, sync bool, by By) error {
	b, err := e.Encode()
	if err != nil {
		return err
	}
	if err := readable(l.name, l.end+int64(len(b))); err != nil {
		return err
	}
	if err := errors.Join(by.check(), l.Check()); err != nil {
		return err
	}
	if _, err = l.file.WriteAt(b, l.end); err == nil && sync {
		err = l.file.Sync()
	}
	if err != nil {
		back := l.file.Truncate(l.end)
		if back == nil && sync {
			back = l.file.Sync()
		}
		if back == nil {
			back = by.check() // a new writer may have copied the entry
		}
		if back != nil {
			return &durable.UnsureError{Name: l.name, Err: errors.Join(err, back)}
		}
		return err
	}
	l.end += int64(len(b))
	if err := errors.Join(by.check(), l.Check()); err != nil {
		return &durable.UnsureError{Name: l.name, Err: err}
	}
	return nil
}

// readable returns an error if a manifest or a log would be too large for its readers.
func readable(name string, size int64) error {
	if size > maxManifest {
		return fault.Class(fault.ErrTooLarge, "%s: %d bytes, want at most %d", name, size, int64(maxManifest))
	}
	return nil
}

// Close closes the file.
func (l *Log) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}

// Fold makes a manifest from a state and its log: the manifest of a finished dataset without a log. Then it removes the log. Fold
// may be repeated. Other writers must be unable to add to the log; see takeLog.
func Fold(fsys vfs.FS, base string, m *Manifest, sync bool, by By) (*Manifest, error) {
	fsys = vfs.OrOS(fsys)
	done := m.finished(by.Tag)
	err := WriteNext(fsys, base, done, sync, by)
	if err == nil {
		err = Finish(fsys, base, done, sync, by)
	}
	if err == nil {
		err = durable.Remove(fsys, LogName(base, m.Log))
	}
	if err == nil && sync {
		err = fsys.SyncDir(Dir(base))
	}
	return done, err
}

// finished returns the manifest that the writer with this tag makes from a state.
func (m *Manifest) finished(tag string) *Manifest {
	done := m.Clone()
	done.Session, done.Died = m.Log, m.Log != tag
	done.Log, done.Commits, done.Held, done.Writer, done.settled = "", 0, nil, tag, true
	for i := range done.Sets {
		if s := &done.Sets[i]; s.Room == s.Records {
			s.Room = 0
		}
	}
	if done.pieces == 0 {
		done.Piece = 0
	}
	return done
}

// takeLog replaces the log of a state with a copy. A former writer that is alive has the old file open. This writer may add an
// entry before the copy gets its name, and a reader may see the entry, so takeLog adds the entry to the copy. The copy has the
// temporary name of a manifest copy, because a temporary name of a log would be longer.
func takeLog(fsys vfs.FS, base string, st *State, by By) error {
	name := LogName(base, st.Manifest.Log)
	old, err := fsys.Open(name)
	if by.Force && errors.Is(err, fs.ErrNotExist) { // the log is lost
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // opened only for reading
	whole := func() ([]byte, error) {
		b, err := manifestBytes(old, name)
		if err != nil {
			return nil, err
		}
		n, _, err := st.Record.Clone().applyLog(b, name)
		if by.Force && errors.As(err, new(*fault.FormatError)) {
			err = nil
		}
		return b[:n], err
	}
	b, err := whole()
	if err != nil {
		return err
	}
	t, err := durable.CreateTemp(fsys, name, durable.TempOptions{Temp: copyName(base, by), Check: by.check, Sync: true})
	if err != nil {
		return err
	}
	if _, err = t.WriteAt(b, 0); err == nil {
		if runtime.GOOS == "windows" { // Windows cannot rename onto an open file, so no writer has the file open, and a late entry is impossible
			_ = old.Close()
		}
		err = t.Commit()
	}
	if err != nil {
		t.Discard()
		return err
	}
	if runtime.GOOS != "windows" {
		late, err := whole()
		if err == nil && len(late) > len(b) {
			err = addLate(fsys, name, late[len(b):], int64(len(b)))
		}
		if err != nil && !errors.Is(err, vfs.ErrStale) { // on a file server, the old file may be gone because it has no name
			return err
		}
	}
	return fsys.SyncDir(Dir(base))
}

// addLate appends entries to a closed log.
func addLate(fsys vfs.FS, name string, b []byte, off int64) error {
	f, err := fsys.OpenRW(name)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(b, off); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Logs returns the logs of base, of all writers.
func Logs(fsys vfs.FS, base string) (list []string, err error) {
	fsys = vfs.OrOS(fsys)
	dir, name := Dir(base), filepath.Base(base)
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if b, _, ok := LogOf(e.Name()); ok && b == name {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, err
}

// removeLogs removes the logs that the record in force does not name.
func removeLogs(fsys vfs.FS, base string, by By) error {
	logs, err := Logs(fsys, base)
	if err != nil {
		return err
	}
	return by.remove(fsys, base, logs)
}
