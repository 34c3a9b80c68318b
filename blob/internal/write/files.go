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

// Announce writes the unprepared manifest of a writer that has claimed the name. A dataset without a manifest is replaced without
// an announcement, because an announcement would mark it as never finished. If the name is free and the subfiles get partial
// names, no announcement is needed.
func (c *claim) Announce(sets int) error {
	if c.blank && c.Rename {
		return nil
	}
	c.Claimed = true
	if c.Foreign {
		return nil
	}
	// If a power cut removes the announcement, files with partial names still do not count as a dataset.
	sync := c.job.Opt.Durability == dataset.DurableCommit && !c.Rename
	if c.blank && !sync { // a torn announcement is harmless, so no temporary name is needed
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

// Take checks that the name is free or may be replaced, and removes the files of a dead writer. Take sets replace and Foreign.
func (c *claim) Take() error {
	fsys := c.job.Opt.Fs
	if c.job.Ten.Lease.Fresh() && subfile.Base(c.job.Base) == c.job.Base { // otherwise the name may belong to a subfile of another dataset
		var err error
		if c.blank, err = blankAt(fsys, c.job.Base); c.blank || err != nil {
			return err
		}
	}
	stands, err := subfile.StandIn(fsys, c.job.Base)
	if err != nil {
		return err
	}
	if info, err := fsys.Stat(c.job.Base); err == nil && !stands {
		what := "a file"
		if info.IsDir() {
			what = "a directory"
		}
		// Force does not apply here, because a file and subfiles with the same base name would be two datasets with one name.
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
		_, err := subfile.Recover(fsys, c.job.Base, c.job.Ten.By()) // files of a writer that died before its first commit
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
	if err == nil && m == nil { // Recover has removed the files of a dead writer; remaining files belong to another program
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

// blankAt reports whether no name in the directory begins with the name of the dataset, except a link that has no target yet; see
// subfile.StandIn. Then Take needs no lookups and removes nothing. On a network file system each lookup costs a message, even for
// a missing name. A directory listing may miss a file that is being renamed, so mayCommit looks up the seal by name.
func blankAt(fsys vfs.FS, base string) (bool, error) {
	entries, err := fsys.ReadDir(subfile.Dir(base))
	if err != nil {
		return false, err
	}
	name := filepath.Base(base)
	for _, e := range entries {
		if !foldPrefix(e.Name(), name) {
			continue
		}
		if e.Name() == name && e.Type()&fs.ModeSymlink != 0 {
			if _, err := fsys.Stat(base); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		return false, nil
	}
	return true, nil
}

// foldPrefix is strings.HasPrefix for file systems that ignore case.
func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// Vacant returns ErrExist if a file has the name of a subfile of the new set. Take has removed the files of dead writers, so such
// a file belongs to another program.
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

// otherCase returns ErrExist if subfiles would have names that differ only in case from names in the directory, because a file
// system may treat such names as equal.
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

// free reports whether files with names of subfiles, without a manifest, belong to no dataset and do not prevent a new dataset.
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

// claim is the writer's right to the name of the dataset. It also describes the files found under the name.
type claim struct {
	job      *Job
	Claimed  bool // world rank 0: this writer has written .manifest.next
	replace  bool
	replaced *subfile.Manifest // world rank 0: manifest of the dataset to be replaced; nil if the dataset has none
	Foreign  bool              // the dataset to be replaced has no manifest
	blank    bool              // no file had the name
	Was      string            // world rank 0: ID of the committed seal when the writer began
	Rename   bool              // subfiles are written under partial names
}

// nameSet gives the subfiles of a set their final names. Only world rank 0 calls it.
func (s *files) nameSet(set string) error {
	if err := s.job.Ten.Check(); err != nil {
		return err
	}
	s.named = true
	_, err := durable.RenameAll(s.job.Opt.Fs, func(yield func(from, to string) bool) {
		for i := range s.job.Subfiles {
			if name := subfile.Name(set, i); !yield(subfile.PartialBy(name, s.job.Ten.Tag()), name) {
				return
			}
		}
	}, s.job.Opt.Durability == dataset.DurableCommit)
	return err
}

// unname removes the subfiles of an uncommitted set that have their final names. Only world rank 0 calls it.
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
	if e.File.Made && (lease.IsPartial(e.File.Name) || s.job.Ten.Check() == nil) { // another writer's file may have the final name
		_ = s.job.Opt.Fs.Remove(e.File.Name) // another rank may have removed it
	}
}

// removeFinals removes, on rank 0, the subfiles of all ranks that were written under final names, and reports whether all are
// removed. Files that remain would look like a dataset without a manifest once the announcement is gone.
func (s *files) removeFinals() bool {
	if s.made != filesAll || s.job.Ten.Check() != nil {
		return false // other ranks may still create files, or the files belong to another writer
	}
	for i := range s.job.Subfiles {
		if err := s.job.Opt.Fs.Remove(subfile.Name(s.set, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return s.job.Opt.Fs.SyncDir(subfile.Dir(s.job.Base)) == nil
}

// Make creates the subfiles of the set base, unless a rank has already failed.
func (s *files) Make(ctx context.Context, base string, err error) error {
	s.set = base
	if s.job.Lead && err == nil {
		e := s.job.Eng
		e.Proc.Tenure.Store(s.job.Ten)
		e.File.Called(base, s.claim.Rename, s.job.Ten)
		e.File.enter()
		if e.Layout.Table.ID[0] == 0 && !s.claim.Rename && s.job.Ten.Apart {
			if err = s.job.Ten.Join(); err == nil {
				err = s.job.Ten.Check() // after a takeover, a file under the final name could disturb the new writer
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
		// Files under final names must be removed before the announcement. Otherwise they would look like a dataset without a
		// manifest.
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

// unplaced reports whether the offsets of the blobs are not known yet.
func (s *files) unplaced() bool { return s.job.Opt.Layout.Traits().ByRank && !s.placed }

// place computes the offset of each rank's blob in a process-centric subfile, once the number of records is known.
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

// files are the subfiles of the set being written.
type files struct {
	job    *Job
	claim  *claim
	set    string // base name
	made   filesState
	placed bool // process-centric: the offsets of all blobs are known
	named  bool // world rank 0: the files of a set after the first have their final names, or are being renamed
}

// filesState describes which subfiles of this session may exist.
type filesState uint8

const (
	filesNone filesState = iota
	filesSome            // subfiles are being created, or a rank has failed to create its subfile
	filesAll
)
