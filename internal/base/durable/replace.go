package durable

import (
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// ReplaceOptions are the options of Replace. The zero value syncs nothing.
type ReplaceOptions struct {
	Owner   string       // see TempOptions.Owner
	Temp    string       // see TempOptions.Temp; only for one name
	Check   func() error // see TempOptions.Check
	Sync    bool         // sync the content before the rename
	SyncDir bool         // sync the name before Replace returns
}

// Replace replaces the content of a file as a whole. After an UnsureError, the file may have the old or the new content, now or
// after a crash. After any other error, it has the old content.
func Replace(fsys vfs.FS, name string, b []byte, o ReplaceOptions) error {
	return ReplaceAll(fsys, []string{name}, b, o)
}

// ReplaceAll replaces several files in one directory with the same content. All content is written before the first rename. At
// each instant each file has the old content or the new. The files are renamed in order.
func ReplaceAll(fsys vfs.FS, names []string, b []byte, o ReplaceOptions) error {
	var g Group
	defer g.Discard()
	for _, name := range names {
		t, err := CreateTemp(fsys, name, TempOptions{Owner: o.Owner, Temp: o.Temp, Check: o.Check, Sync: o.Sync})
		if err != nil {
			return err
		}
		g.Add(t)
		if _, err := t.WriteAt(b, 0); err != nil {
			return err
		}
	}
	return g.Commit(o.SyncDir)
}

// Rename durably renames a file or directory: it publishes a finished directory, or sets a damaged file aside. It does not sync
// the content. After an UnsureError, the file may have the old or the new name, now or after a crash. After any other error, it
// has the old name.
func Rename(fsys vfs.FS, from, to string) error {
	if err := Move(fsys, from, to); err != nil {
		return err
	}
	err := vfs.SyncParent(fsys, to)
	if err == nil && filepath.Dir(from) != filepath.Dir(to) {
		err = vfs.SyncParent(fsys, from)
	}
	if err != nil {
		return unsure(to, true, err)
	}
	return nil
}

// RenameAll renames finished files to their second names, in order, and with syncDirs syncs the directories of the second
// names. RenameAll may be repeated: a file whose first name is missing has already been renamed. absent lists the second names of
// these files.
func RenameAll(fsys vfs.FS, list iter.Seq2[string, string], syncDirs bool) (absent []string, err error) {
	dirs := map[string]bool{}
	for from, to := range list {
		err := vfs.RenameFile(fsys, from, to)
		if errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, to)
		} else if err != nil {
			return absent, err
		}
		dirs[filepath.Dir(to)] = true
	}
	if syncDirs {
		for dir := range dirs {
			if err := fsys.SyncDir(dir); err != nil {
				return absent, err
			}
		}
	}
	return absent, nil
}

// Move is Rename without the sync. On some file systems a rename may succeed and yet return an error; if the outcome is unknown,
// Move returns an UnsureError.
func Move(fsys vfs.FS, from, to string) error { return moved(fsys, from, to, fsys.Rename(from, to)) }

// moved is Move after a rename that returned err.
func moved(fsys vfs.FS, from, to string, err error) error {
	if err == nil {
		return nil
	}
	if _, serr := fsys.Stat(from); serr == nil {
		return err // the file still has its first name
	}
	return &UnsureError{Name: to, Err: err}
}

// A Group is a set of files that are renamed in the order of Add, once all are whole.
type Group struct{ temps []*Temp }

// Add adds a file.
func (g *Group) Add(t *Temp) { g.temps = append(g.temps, t) }

// AddFirst adds a file that is renamed before the others.
func (g *Group) AddFirst(t *Temp) { g.temps = slices.Insert(g.temps, 0, t) }

// Names returns the final names, in order.
func (g *Group) Names() (list []string) {
	for _, t := range g.temps {
		list = append(list, t.name)
	}
	return list
}

// Finish syncs the contents, if requested, and closes the files. The syncs run at once, so that a journaling file system can commit
// them together.
func (g *Group) Finish() error {
	var open []*Temp
	for _, t := range g.temps {
		if t.File != nil {
			open = append(open, t)
		}
	}
	workers := 8
	if len(open) > 0 && vfs.InMemory(open[0].File) {
		workers = 1 // a switch to another goroutine takes longer than the syncs
	}
	errs := make([]error, len(open))
	par.Do(workers, len(open), func(i int) { errs[i] = open[i].Finish() })
	return errors.Join(errs...)
}

// Commit finishes and renames all files, and with syncDirs syncs their directories. After an UnsureError, some files may have
// their final names. After any other error, no file has its final name. Discard removes the files without their final names.
func (g *Group) Commit(syncDirs bool) error {
	if err := g.Finish(); err != nil {
		return err
	}
	for i, t := range g.temps {
		if err := t.Rename(); err != nil {
			if i > 0 {
				err = unsure(g.temps[0].name, true, err)
			}
			return err
		}
	}
	if !syncDirs {
		return nil
	}
	return g.syncDirs()
}

func (g *Group) syncDirs() error {
	seen := map[string]bool{}
	for _, t := range g.temps {
		dir := filepath.Dir(t.name)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if err := t.fsys.SyncDir(dir); err != nil {
			return unsure(t.name, true, err)
		}
	}
	return nil
}

// Discard removes the files without their final names.
func (g *Group) Discard() {
	for _, t := range g.temps {
		t.Discard()
	}
}
