package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// create makes the files, if no rank has met an error yet. World rank 0 takes the lease of the dataset, looks at what is there, and announces
// the writer by an unprepared manifest; then the first rank of each subfile
// makes its file. The result is agreed.
func (w *Writer) create(ctx context.Context, err error) error {
	replace := int64(0)
	if w.c.Rank() == 0 && err == nil {
		if err = w.acquire(ctx, w.base); err == nil {
			err = w.claim()
		}
		if err == nil {
			if w.info.replace {
				replace = -1
			}
			if w.info.rename = w.renames(); !w.info.rename {
				err = w.share()
			}
		}
		if err == nil {
			err = w.announce()
		}
	}
	ctx = context.Background() // the steps are short; a cancelled caller is seen by Agree of the next collective
	v, err := comm.AgreeMin(ctx, w.c, w.ten.explain(err), append(w.ten.words(), replace)...)
	if err != nil {
		return err
	}
	w.serve(v)
	w.info.replace = v[2] != 0
	w.info.rename = w.renames()
	return w.makeFiles(ctx, w.base, nil)
}

// renames says whether the subfiles of a new dataset get partial names.
func (w *Writer) renames() bool {
	return w.info.replace || w.opt.CommitMode == CommitRename || w.opt.CommitMode == CommitAuto && w.info.subfiles <= maxAutoRenames
}

// makeFiles creates the subfiles of the set base, if no rank has met an error yet.
func (w *Writer) makeFiles(ctx context.Context, base string, err error) error {
	w.set = base
	if w.lead && err == nil {
		e := w.eng
		e.proc.tenure.Store(w.ten)
		e.called(base, w.info.rename, w.ten)
		if e.table.ID[0] == 0 && !w.info.rename && w.ten.apart {
			if err = w.ten.join(); err == nil {
				err = w.ten.check() // under a final name it could be in the way of who takes over
			}
		}
		if e.table.ID[0] == 0 && err == nil {
			f, cerr := w.opt.fs.Create(e.name)
			if err = cerr; err == nil {
				e.made = true
				err = e.proc.pool.Keep(e.name, f)
			} else if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("%w: %w", err, ErrExist)
			}
		}
	}
	w.files = filesSome
	if err := comm.Agree(ctx, w.c, w.ten.explain(err)); err != nil {
		// Under final names they must be gone before the announcement is, or
		// they would look like a dataset of another program.
		w.removeMade()
		if w.c.Barrier(ctx) == nil {
			w.files = filesNone
		}
		return err
	}
	w.files = filesAll
	if w.opt.Records == 0 || !w.unplaced() {
		return nil
	}
	return comm.Agree(ctx, w.c, w.place(w.limit))
}

// announce writes the unprepared manifest of a writer that has claimed the
// name. The dataset of another program is replaced without: beside an
// announcement it would count as never finished. Where nothing of the name is there, partial names say the same.
func (w *Writer) announce() error {
	if w.info.blank && w.info.rename {
		return nil
	}
	w.claimed = true
	if w.info.foreign {
		return nil
	}
	// Of subfiles under partial names a power cut that takes the announcement leaves nothing that could be taken for a dataset.
	sync := w.opt.Durability == DurableCommit && !w.info.rename
	if w.info.blank && !sync { // nor does one that is torn, so it needs no other name first
		b, err := w.intent().Encode()
		if err != nil {
			return err
		}
		f, err := w.opt.fs.Create(subfile.NextName(w.base))
		if err != nil {
			return err
		}
		_, err = f.WriteAt(b, 0)
		return errors.Join(err, f.Close())
	}
	return subfile.WriteNext(w.opt.fs, w.base, w.intent(), sync, w.ten.by())
}

// claim checks that the name is free, or may be replaced, and clears away what
// a dead writer left. It sets info.replace and info.foreign.
func (w *Writer) claim() error {
	fsys := w.opt.fs
	if w.ten.lease.Fresh() && subfile.Base(w.base) == w.base { // otherwise it may mean a dataset of which it could be a subfile
		var err error
		if w.info.blank, err = blankAt(fsys, w.base); w.info.blank || err != nil {
			return err
		}
	}
	if info, err := fsys.Stat(w.base); err == nil {
		what := "a file"
		if info.IsDir() {
			what = "a directory"
		}
		// Not even with Force: subfiles beside a file of their base name would be two datasets under one name.
		return fmt.Errorf("%s: %s of this name is there, which subfiles cannot replace: %w", w.base, what, ErrExist)
	}
	set, err := subfile.Find(fsys, w.base)
	free := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		free, err = w.free(set)
	}
	switch {
	case free:
		if err := w.otherCase(); err != nil {
			return err
		}
		_, err := subfile.Recover(fsys, w.base, w.ten.by()) // of a writer that died at its first record
		return errors.Join(err, w.ten.secure(nil, false))
	case err != nil:
		return err
	case !w.opt.Force:
		what := "a dataset"
		if !set.Manifest && len(set.Members) == 0 {
			what = "an unfinished dataset"
		}
		return fmt.Errorf("%s: %s of this name is there (Options.Force replaces it): %w", w.base, what, ErrExist)
	}
	m, err := subfile.Recover(fsys, w.base, w.ten.by())
	if m != nil {
		w.info.was, w.info.replaced = m.ID, m
	}
	if err == nil && m == nil { // what a dead writer left is gone; what is still there is another program's
		if set, err = subfile.Find(fsys, w.base); errors.Is(err, fs.ErrNotExist) {
			set, err = &subfile.Set{}, nil
		}
		if err == nil {
			free, err = w.free(set)
		}
		w.info.foreign = err == nil && !free
	}
	w.info.replace = m != nil || w.info.foreign
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

// vacant returns ErrExist if a file has the name of a subfile of a set to be written: what a dead writer left is gone, so it is
// somebody else's.
func (w *Writer) vacant(set string) error {
	for i := range w.info.subfiles {
		name := subfile.Name(set, i)
		if _, err := w.opt.fs.Stat(name); err == nil {
			return fmt.Errorf("%s: %s exists and is not of this dataset: %w", w.base, name, ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// otherCase returns ErrExist if subfiles would replace files that the directory lists in other letters: a file system may take them for the same.
func (w *Writer) otherCase() error {
	entries, err := w.opt.fs.ReadDir(subfile.Dir(w.base))
	name := filepath.Base(w.base)
	for _, e := range entries {
		if foldPrefix(e.Name(), name) && !strings.HasPrefix(e.Name(), name) {
			return w.vacant(w.base)
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
		if i < w.info.subfiles {
			return false, nil
		}
		if pl, err := blobHeader(w.opt.fs, name); pl != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

// unplaced says that it is still to be known where the blobs of ranks begin.
func (w *Writer) unplaced() bool { return w.opt.Layout.traits().ByRank && !w.placed }

// place gives every rank's blob its place in a process-centric subfile, once
// the number of records is known.
func (w *Writer) place(records int64) error {
	if !w.unplaced() {
		return nil
	}
	w.placed = true
	if !w.lead {
		return nil
	}
	return w.eng.settle(records - w.eng.base)
}
