package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/blob/internal/lease"
)

// Renames reports whether the subfiles of a new dataset get partial names.
func (c *claim) Renames() bool {
	return c.replace || c.job.Subfiles <= c.job.Opt.Renames
}

// Announce writes the unprepared manifest of a writer that has claimed the
// name. The dataset of another program is replaced without: beside an
// announcement it would count as never finished. Where nothing of the name is there, partial names say the same.
func (c *claim) Announce(sets int) error {
	if c.blank && c.Rename {
		return nil
	}
	c.Claimed = true
	if c.Foreign {
		return nil
	}
	// Of subfiles under partial names a power cut that takes the announcement leaves nothing that could be taken for a dataset.
	sync := c.job.Opt.Durability == dataset.DurableCommit && !c.Rename
	if c.blank && !sync { // nor does one that is torn, so it needs no other name first
		b, err := c.intent(sets).Encode()
		if err != nil {
			return err
		}
		f, err := c.job.Opt.Fs.Create(subfile.NextName(c.job.Base))
		if err != nil {
			return err
		}
		_, err = f.WriteAt(b, 0)
		return errors.Join(err, f.Close())
	}
	return subfile.WriteNext(c.job.Opt.Fs, c.job.Base, c.intent(sets), sync, c.job.Ten.By())
}

// Take checks that the name is free, or may be replaced, and clears away what
// a dead writer left. It sets replace and Foreign.
func (c *claim) Take() error {
	fsys := c.job.Opt.Fs
	if c.job.Ten.Lease.Fresh() && subfile.Base(c.job.Base) == c.job.Base { // otherwise the name may be a subfile of another dataset
		var err error
		if c.blank, err = blankAt(fsys, c.job.Base); c.blank || err != nil {
			return err
		}
	}
	if info, err := fsys.Stat(c.job.Base); err == nil {
		what := "a file"
		if info.IsDir() {
			what = "a directory"
		}
		// Not even with Force: subfiles beside a file of their base name would be two datasets under one name.
		return fmt.Errorf("%s: %s of this name cannot be replaced by subfiles: %w", c.job.Base, what, dataset.ErrExist)
	}
	set, err := subfile.Find(fsys, c.job.Base)
	free := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		free, err = c.free(set)
	}
	switch {
	case free:
		if err := c.otherCase(); err != nil {
			return err
		}
		_, err := subfile.Recover(fsys, c.job.Base, c.job.Ten.By()) // of a writer that died at its first record
		return errors.Join(err, c.job.Ten.Secure(nil, false))
	case err != nil:
		return err
	case !c.job.Opt.Force:
		what := "a dataset"
		if !set.Manifest && len(set.Members) == 0 {
			what = "an unfinished dataset"
		}
		return fmt.Errorf("%s: %s of this name is in the way; Options.Force replaces it: %w", c.job.Base, what, dataset.ErrExist)
	}
	m, err := subfile.Recover(fsys, c.job.Base, c.job.Ten.By())
	if m != nil {
		c.Was, c.replaced = m.ID, m
	}
	if err == nil && m == nil { // what a dead writer left is gone; what is still there is another program's
		if set, err = subfile.Find(fsys, c.job.Base); errors.Is(err, fs.ErrNotExist) {
			set, err = &subfile.Set{}, nil
		}
		if err == nil {
			free, err = c.free(set)
		}
		c.Foreign = err == nil && !free
	}
	c.replace = m != nil || c.Foreign
	return err
}

// blankAt says that no name in the directory of a dataset begins with its own, so that there is nothing to look at or to clear away. On a
// network file system each name that is looked up takes a message, if it is there or not. A file that is renamed while a
// directory is listed may be missing in the list; mayCommit looks for records by name.
func blankAt(fsys vfs.FS, base string) (bool, error) {
	entries, err := fsys.ReadDir(subfile.Dir(base))
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if foldPrefix(e.Name(), filepath.Base(base)) {
			return false, nil
		}
	}
	return true, nil
}

// foldPrefix is strings.HasPrefix where names may not differ by case.
func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// Vacant returns ErrExist if a file has the name of a subfile of a set to be written: what a dead writer left is gone, so it is
// somebody else's.
func (c *claim) Vacant(set string) error {
	for i := range c.job.Subfiles {
		name := subfile.Name(set, i)
		if _, err := c.job.Opt.Fs.Stat(name); err == nil {
			return fmt.Errorf("%s: %s does not belong to this dataset: %w", c.job.Base, name, dataset.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// otherCase returns ErrExist if subfiles would replace files that the directory lists in other letters: a file system may take them for the same.
func (c *claim) otherCase() error {
	entries, err := c.job.Opt.Fs.ReadDir(subfile.Dir(c.job.Base))
	name := filepath.Base(c.job.Base)
	for _, e := range entries {
		if foldPrefix(e.Name(), name) && !strings.HasPrefix(e.Name(), name) {
			return c.Vacant(c.job.Base)
		}
	}
	return err
}

// free says of files that have names of subfiles, without a manifest beside them, that they are nobody's and not in the way.
func (c *claim) free(set *subfile.Set) (bool, error) {
	if set.Manifest || set.Next || set.Log || len(set.Partials) > 0 {
		return false, nil
	}
	for i, name := range set.Members {
		if i < c.job.Subfiles {
			return false, nil
		}
		if pl, err := dataset.BlobHeader(c.job.Opt.Fs, name); pl != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

// claim is the right to the name of the dataset, and what was found there.
type claim struct {
	job      *Job
	Claimed  bool // world rank 0: the .manifest.next is ours
	replace  bool
	replaced *subfile.Manifest // of what is replaced, on world rank 0; nil if it has none
	Foreign  bool              // what is replaced has no manifest
	blank    bool              // nothing of the name was there
	Was      string            // ID of the record that was in force when the writer began, on world rank 0
	Rename   bool              // subfiles are written under partial names
}

// nameSet gives the subfiles of a set their final names, on world rank 0.
func (s *files) nameSet(set string) error {
	if err := s.job.Ten.Check(); err != nil {
		return err
	}
	s.named = true
	return durable.RenameAll(s.job.Opt.Fs, func(yield func(from, to string) bool) {
		for i := range s.job.Subfiles {
			if name := subfile.Name(set, i); !yield(subfile.PartialBy(name, s.job.Ten.Tag()), name) {
				return
			}
		}
	}, s.job.Opt.Durability == dataset.DurableCommit)
}

// unname removes, on world rank 0, the subfiles of a set that was not committed from their final names.
func (s *files) unname() error {
	s.named = false
	if err := s.job.Ten.Check(); err != nil {
		return err
	}
	for i := range s.job.Subfiles {
		if err := durable.Remove(s.job.Opt.Fs, subfile.Name(s.set, i)); err != nil {
			return err
		}
	}
	return s.job.Opt.Fs.SyncDir(subfile.Dir(s.job.Base))
}

// removeMade removes the subfile that this process created.
func (s *files) removeMade() {
	if !s.job.Lead {
		return
	}
	e := s.job.Eng
	e.Proc.Pool.CloseFile(e.File.Name)
	if e.File.Made && (lease.IsPartial(e.File.Name) || s.job.Ten.Check() == nil) { // under a final name there may be the file of who has taken over
		_ = s.job.Opt.Fs.Remove(e.File.Name) // another rank may have done it
	}
}

// removeFinals removes, on rank 0, the subfiles of all ranks that were written
// under final names. Without the announcement they would look like a dataset of
// another program, so it reports whether they are gone for good.
func (s *files) removeFinals() bool {
	if s.made != filesAll || s.job.Ten.Check() != nil {
		return false // other ranks may still be creating them, or they are another writer's
	}
	for i := range s.job.Subfiles {
		if err := s.job.Opt.Fs.Remove(subfile.Name(s.set, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return s.job.Opt.Fs.SyncDir(subfile.Dir(s.job.Base)) == nil
}

// Make creates the subfiles of the set base, if no rank has met an error yet.
func (s *files) Make(ctx context.Context, base string, err error) error {
	s.set = base
	if s.job.Lead && err == nil {
		e := s.job.Eng
		e.Proc.Tenure.Store(s.job.Ten)
		e.File.Called(base, s.claim.Rename, s.job.Ten)
		e.File.enter()
		if e.Layout.Table.ID[0] == 0 && !s.claim.Rename && s.job.Ten.Apart {
			if err = s.job.Ten.Join(); err == nil {
				err = s.job.Ten.Check() // under a final name it could be in the way of who takes over
			}
		}
		if e.Layout.Table.ID[0] == 0 && err == nil {
			f, cerr := s.job.Opt.Fs.Create(e.File.Name)
			if err = cerr; err == nil {
				e.File.Made = true
				err = e.Proc.Pool.Keep(e.File.Name, f)
			} else if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("%w: %w", err, dataset.ErrExist)
			}
		}
		e.File.leave()
	}
	s.made = filesSome
	if err := comm.Agree(ctx, s.job.C, s.job.Ten.Explain(err)); err != nil {
		// Under final names they must be gone before the announcement is, or
		// they would look like a dataset of another program.
		s.removeMade()
		if s.job.C.Barrier(ctx) == nil {
			s.made = filesNone
		}
		return err
	}
	s.made = filesAll
	if s.job.Opt.Records == 0 || !s.unplaced() {
		return nil
	}
	return comm.Agree(ctx, s.job.C, s.place(s.job.Limit))
}

// unplaced says that it is still to be known where the blobs of ranks begin.
func (s *files) unplaced() bool { return s.job.Opt.Layout.Traits().ByRank && !s.placed }

// place gives every rank's blob its place in a process-centric subfile, once
// the number of records is known.
func (s *files) place(records int64) error {
	if !s.unplaced() {
		return nil
	}
	s.placed = true
	if !s.job.Lead {
		return nil
	}
	return s.job.Eng.Layout.Settle(records - s.job.Eng.Layout.Base)
}

// files are the subfiles of the set that is being written.
type files struct {
	job    *Job
	claim  *claim
	set    string // base name
	made   filesState
	placed bool // process-centric: every blob has its place
	named  bool // world rank 0: the files of a further set have, or get, their final names
}

// filesState says which subfiles of this session may be there.
type filesState uint8

const (
	filesNone filesState = iota
	filesSome            // being created, or a rank failed to
	filesAll
)
