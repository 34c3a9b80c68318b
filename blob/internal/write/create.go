package write

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// create makes the files, if no rank has met an error yet. World rank 0 takes the lease of the dataset, looks at what is there, and announces
// the writer by an unprepared manifest; then the first rank of each subfile
// makes its file. The result is agreed.
func (w *Writer) create(ctx context.Context, err error) error {
	replace := int64(0)
	if w.Job.C.Rank() == 0 && err == nil {
		if err = w.Job.Acquire(ctx, w.Job.Base); err == nil {
			err = w.Claim.Take()
		}
		if err == nil {
			if w.Claim.replace {
				replace = -1
			}
			if w.Claim.Rename = w.Claim.Renames(); !w.Claim.Rename {
				err = w.Job.Share()
			}
		}
		if err == nil {
			err = w.Claim.Announce(0)
		}
	}
	ctx = context.Background() // the steps are short; a cancelled caller is seen by Agree of the next collective
	v, err := comm.AgreeMin(ctx, w.Job.C, w.Job.Ten.Explain(err), append(w.Job.Ten.Words(), replace)...)
	if err != nil {
		return err
	}
	w.Job.Serve(v)
	w.Claim.replace = v[2] != 0
	w.Claim.Rename = w.Claim.Renames()
	return w.Files.Make(ctx, w.Job.Base, nil)
}

// Renames reports whether the subfiles of a new dataset get partial names.
func (c *claim) Renames() bool {
	return c.replace || c.job.Opt.CommitMode == dataset.CommitRename || c.job.Opt.CommitMode == dataset.CommitAuto && c.job.Subfiles <= dataset.MaxAutoRenames
}

// MakeFiles creates the subfiles of the set base, if no rank has met an error yet.
func (s *files) Make(ctx context.Context, base string, err error) error {
	s.set = base
	if s.job.Lead && err == nil {
		e := s.job.Eng
		e.Proc.Tenure.Store(s.job.Ten)
		e.File.Called(base, s.claim.Rename, s.job.Ten)
		e.File.enter()
		if e.Layout.Table.ID[0] == 0 && !s.claim.Rename && s.job.Ten.apart {
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

// Claim checks that the name is free, or may be replaced, and clears away what
// a dead writer left. It sets info.replace and info.foreign.
func (c *claim) Take() error {
	fsys := c.job.Opt.Fs
	if c.job.Ten.Lease.Fresh() && subfile.Base(c.job.Base) == c.job.Base { // otherwise it may mean a dataset of which it could be a subfile
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
		return fmt.Errorf("%s: %s of this name is there, which subfiles cannot replace: %w", c.job.Base, what, dataset.ErrExist)
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
		return fmt.Errorf("%s: %s of this name is there (Options.Force replaces it): %w", c.job.Base, what, dataset.ErrExist)
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
			return fmt.Errorf("%s: %s exists and is not of this dataset: %w", c.job.Base, name, dataset.ErrExist)
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
