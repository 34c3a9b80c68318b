package durable

import (
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"blobio/internal/base/vfs"
)

// ReplaceOptions of Replace. The zero value syncs nothing.
type ReplaceOptions struct {
	Owner   string       // see TempOptions
	Temp    string       // see TempOptions; of one name
	Check   func() error // see TempOptions
	Sync    bool         // the content is durable before it has its name
	SyncDir bool         // the name is durable when Replace returns
}

// Replace gives a name new content, whole or not at all. After an UnsureError
// nobody knows which content a reader finds, now or after a crash; after any other it is the old one.
func Replace(fsys vfs.FS, name string, b []byte, o ReplaceOptions) error {
	return ReplaceAll(fsys, []string{name}, b, o)
}

// ReplaceAll is Replace of several names in one directory, which get the same content: at each instant
// each of them has the old content or the new one, none has the new one before all of it is
// written for all, and the first one has it first.
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

// Rename gives a file or a directory another name, durably: a directory that is whole gets its name, a damaged file is set aside. Its
// content is not synced. After an UnsureError nobody knows which of the two names it has, now or after a crash; after any other it has the first.
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

// RenameAll gives files that are whole their second names, in the order of the list, and then syncs the directories of those names if syncDirs.
// It may be repeated: a file that does not have its first name any more has got its second before.
func RenameAll(fsys vfs.FS, list iter.Seq2[string, string], syncDirs bool) error {
	dirs := map[string]bool{}
	for from, to := range list {
		if err := vfs.RenameFile(fsys, from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		dirs[filepath.Dir(to)] = true
	}
	if syncDirs {
		for dir := range dirs {
			if err := fsys.SyncDir(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// Move is Rename without the sync. It returns an UnsureError if it is not known whether the rename happened: on some file systems a rename
// can happen and yet return an error.
func Move(fsys vfs.FS, from, to string) error { return moved(fsys, from, to, fsys.Rename(from, to)) }

// moved is Move after the rename, which returned err.
func moved(fsys vfs.FS, from, to string, err error) error {
	if err == nil {
		return nil
	}
	if _, serr := fsys.Stat(from); serr == nil {
		return err // it still has its first name
	}
	return &UnsureError{Name: to, Err: err}
}

// A Group is files that get their names one after the other, in the order in which they were added, once all are whole.
type Group struct{ temps []*Temp }

// Add adds a file.
func (g *Group) Add(t *Temp) { g.temps = append(g.temps, t) }

// AddFirst adds a file that gets its name before the others.
func (g *Group) AddFirst(t *Temp) { g.temps = slices.Insert(g.temps, 0, t) }

// Names returns the names that the files get, in that order.
func (g *Group) Names() (list []string) {
	for _, t := range g.temps {
		list = append(list, t.name)
	}
	return list
}

// Commit finishes all files, gives them their names, and syncs their directories if syncDirs. After an UnsureError
// some of them may have their names; after any other error none has. Discard removes those that have not.
func (g *Group) Commit(syncDirs bool) error {
	for _, t := range g.temps {
		if err := t.Finish(); err != nil {
			return err
		}
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

// Discard removes the files that have not got their names.
func (g *Group) Discard() {
	for _, t := range g.temps {
		t.Discard()
	}
}
