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
	if w.C.Rank() == 0 && err == nil {
		if err = w.Acquire(ctx, w.Base); err == nil {
			err = w.Claim()
		}
		if err == nil {
			if w.Info.replace {
				replace = -1
			}
			if w.Info.Rename = w.Renames(); !w.Info.Rename {
				err = w.Share()
			}
		}
		if err == nil {
			err = w.Announce()
		}
	}
	ctx = context.Background() // the steps are short; a cancelled caller is seen by Agree of the next collective
	v, err := comm.AgreeMin(ctx, w.C, w.Ten.Explain(err), append(w.Ten.Words(), replace)...)
	if err != nil {
		return err
	}
	w.Serve(v)
	w.Info.replace = v[2] != 0
	w.Info.Rename = w.Renames()
	return w.MakeFiles(ctx, w.Base, nil)
}

// Renames reports whether the subfiles of a new dataset get partial names.
func (w *Writer) Renames() bool {
	return w.Info.replace || w.Info.Subfiles <= w.Opt.Renames
}

// MakeFiles creates the subfiles of the set base, if no rank has met an error yet.
func (w *Writer) MakeFiles(ctx context.Context, base string, err error) error {
	w.set = base
	if w.Lead && err == nil {
		e := w.Eng
		e.Proc.Tenure.Store(w.Ten)
		e.Called(base, w.Info.Rename, w.Ten)
		e.enter()
		if e.Table.ID[0] == 0 && !w.Info.Rename && w.Ten.apart {
			if err = w.Ten.Join(); err == nil {
				err = w.Ten.Check() // under a final name it could be in the way of who takes over
			}
		}
		if e.Table.ID[0] == 0 && err == nil {
			f, cerr := w.Opt.Fs.Create(e.Name)
			if err = cerr; err == nil {
				e.Made = true
				err = e.Proc.Pool.Keep(e.Name, f)
			} else if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("%w: %w", err, dataset.ErrExist)
			}
		}
		e.leave()
	}
	w.files = filesSome
	if err := comm.Agree(ctx, w.C, w.Ten.Explain(err)); err != nil {
		// Under final names they must be gone before the announcement is, or
		// they would look like a dataset of another program.
		w.removeMade()
		if w.C.Barrier(ctx) == nil {
			w.files = filesNone
		}
		return err
	}
	w.files = filesAll
	if w.Opt.Records == 0 || !w.unplaced() {
		return nil
	}
	return comm.Agree(ctx, w.C, w.place(w.Limit))
}

// Announce writes the unprepared manifest of a writer that has claimed the
// name. The dataset of another program is replaced without: beside an
// announcement it would count as never finished. Where nothing of the name is there, partial names say the same.
func (w *Writer) Announce() error {
	if w.Info.blank && w.Info.Rename {
		return nil
	}
	w.Claimed = true
	if w.Info.Foreign {
		return nil
	}
	// Of subfiles under partial names a power cut that takes the announcement leaves nothing that could be taken for a dataset.
	sync := w.Opt.Durability == dataset.DurableCommit && !w.Info.Rename
	if w.Info.blank && !sync { // nor does one that is torn, so it needs no other name first
		b, err := w.intent().Encode()
		if err != nil {
			return err
		}
		f, err := w.Opt.Fs.Create(subfile.NextName(w.Base))
		if err != nil {
			return err
		}
		_, err = f.WriteAt(b, 0)
		return errors.Join(err, f.Close())
	}
	return subfile.WriteNext(w.Opt.Fs, w.Base, w.intent(), sync, w.Ten.By())
}

// Claim checks that the name is free, or may be replaced, and clears away what
// a dead writer left. It sets info.replace and info.foreign.
func (w *Writer) Claim() error {
	fsys := w.Opt.Fs
	if w.Ten.Lease.Fresh() && subfile.Base(w.Base) == w.Base { // otherwise it may mean a dataset of which it could be a subfile
		var err error
		if w.Info.blank, err = blankAt(fsys, w.Base); w.Info.blank || err != nil {
			return err
		}
	}
	if info, err := fsys.Stat(w.Base); err == nil {
		what := "a file"
		if info.IsDir() {
			what = "a directory"
		}
		// Not even with Force: subfiles beside a file of their base name would be two datasets under one name.
		return fmt.Errorf("%s: %s of this name is there, which subfiles cannot replace: %w", w.Base, what, dataset.ErrExist)
	}
	set, err := subfile.Find(fsys, w.Base)
	free := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		free, err = w.free(set)
	}
	switch {
	case free:
		if err := w.otherCase(); err != nil {
			return err
		}
		_, err := subfile.Recover(fsys, w.Base, w.Ten.By()) // of a writer that died at its first record
		return errors.Join(err, w.Ten.Secure(nil, false))
	case err != nil:
		return err
	case !w.Opt.Force:
		what := "a dataset"
		if !set.Manifest && len(set.Members) == 0 {
			what = "an unfinished dataset"
		}
		return fmt.Errorf("%s: %s of this name is there (Options.Force replaces it): %w", w.Base, what, dataset.ErrExist)
	}
	m, err := subfile.Recover(fsys, w.Base, w.Ten.By())
	if m != nil {
		w.Info.Was, w.Info.replaced = m.ID, m
	}
	if err == nil && m == nil { // what a dead writer left is gone; what is still there is another program's
		if set, err = subfile.Find(fsys, w.Base); errors.Is(err, fs.ErrNotExist) {
			set, err = &subfile.Set{}, nil
		}
		if err == nil {
			free, err = w.free(set)
		}
		w.Info.Foreign = err == nil && !free
	}
	w.Info.replace = m != nil || w.Info.Foreign
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
func (w *Writer) Vacant(set string) error {
	for i := range w.Info.Subfiles {
		name := subfile.Name(set, i)
		if _, err := w.Opt.Fs.Stat(name); err == nil {
			return fmt.Errorf("%s: %s exists and is not of this dataset: %w", w.Base, name, dataset.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// otherCase returns ErrExist if subfiles would replace files that the directory lists in other letters: a file system may take them for the same.
func (w *Writer) otherCase() error {
	entries, err := w.Opt.Fs.ReadDir(subfile.Dir(w.Base))
	name := filepath.Base(w.Base)
	for _, e := range entries {
		if foldPrefix(e.Name(), name) && !strings.HasPrefix(e.Name(), name) {
			return w.Vacant(w.Base)
		}
	}
	return err
}

// free says of files that have names of subfiles, without a manifest beside them, that they are nobody's and not in the way.
func (w *Writer) free(set *subfile.Set) (bool, error) {
	if set.Manifest || set.Next || set.Log || len(set.Partials) > 0 {
		return false, nil
	}
	for i, name := range set.Members {
		if i < w.Info.Subfiles {
			return false, nil
		}
		if pl, err := dataset.BlobHeader(w.Opt.Fs, name); pl != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

// unplaced says that it is still to be known where the blobs of ranks begin.
func (w *Writer) unplaced() bool { return w.Opt.Layout.Traits().ByRank && !w.placed }

// place gives every rank's blob its place in a process-centric subfile, once
// the number of records is known.
func (w *Writer) place(records int64) error {
	if !w.unplaced() {
		return nil
	}
	w.placed = true
	if !w.Lead {
		return nil
	}
	return w.Eng.Settle(records - w.Eng.Base)
}
