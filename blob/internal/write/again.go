package write

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// again lets the collective that begins fail for want of space without an end of the writer; what it returns ends that. All that was put is in memory
// then, or in a file that its own disk holds: a file server may tell of the space that it lacked for what it was given before.
func (s *state) again() (end func()) {
	s.lacked = nil
	s.commits.soft = s.Err == nil && s.job.Eng != nil && !s.puts.flying && !s.commits.due && !s.job.Opt.Compress.On() && s.job.Opt.Fs.Local(s.job.Base)
	return func() {
		if s.commits.soft = false; s.job.Lead && s.job.Eng != nil {
			s.job.Eng.Kept.before = nil
		}
	}
}

// goesOn undoes what a collective has begun that failed on all ranks for want of space, so that a later one can do all of it. It reports whether that is
// so. What is committed is not touched, and what was put is kept.
func (s *state) goesOn(err error) bool {
	if s.lacked != nil && s.commits.soft {
		return true // reported before
	}
	for _, ends := range []error{durable.ErrUnsure, dataset.ErrInUse, dataset.ErrBroken} {
		if errors.Is(err, ends) {
			return false
		}
	}
	if !s.commits.soft || s.Err != nil || s.commits.MayBeInForce || s.puts.flying || !vfs.Full(err) || errors.As(err, new(*dataset.InDoubtError)) || errors.As(err, new(*dataset.UnfinishedError)) {
		return false
	}
	s.lacked = err
	if s.commits.Count == 0 {
		s.commits.going = false
	}
	if s.commits.Count == 0 && s.commits.log != nil {
		_ = s.commits.log.Close()
		_ = s.job.Opt.Fs.Remove(subfile.LogName(s.job.Base, s.job.Ten.Tag())) // if it stays, the next commit fails
		s.commits.log = nil
	}
	if s.job.Opt.Keeps() {
		s.files.placed = false
	}
	var undone error
	if s.job.Lead {
		undone = s.job.Eng.undo(s.commits.Count > 0)
	}
	if s.job.C.Rank() == 0 && s.files.named { // of a set without an entry
		undone = errors.Join(undone, s.files.unname())
	}
	if undone != nil {
		s.job.Eng.Seal.late = fmt.Errorf("%w: %w", dataset.ErrBroken, undone) // for the next collective to tell
	}
	if !s.job.apart() { // no rank goes on with an engine that is being changed
		_ = s.job.C.Barrier(context.Background())
	}
	return true
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

// undo makes the engine ready to write anew what a collective has not brought to its end. further: its file would have been of a set after the first.
func (e *Engine) undo(further bool) error {
	if !e.opt.Keeps() {
		if !further && !e.Layout.Appended { // the maps are written anew, too
			e.Layout.MapsOut = false
			for x := range int64(e.Layout.Place.NumMaps() * layout.MapVars) {
				e.Sums.Set.Forget(x)
			}
		}
		return nil
	}
	if e.Kept.before != nil {
		e.Kept.lists, e.Kept.before = e.Kept.before, nil
		e.Proc.retake(e.Kept.freed)
		e.Kept.freed = 0
	}
	if e.File.Name == "" {
		return nil
	}
	err := e.Proc.Pool.CloseFile(e.File.Name)
	name, final, made, base, first := e.File.Name, e.File.Final, e.File.Made, e.Layout.Base, e.Layout.Table.ID[0] == 0
	switch {
	case further && made:
		err = errors.Join(err, durable.Remove(e.opt.Fs, name))
	case first && !further: // it is empty again, which is where space comes from
		f, done, oerr := e.File.Open()
		if oerr == nil {
			oerr = f.Truncate(0)
			done()
		}
		err = errors.Join(err, oerr, e.Proc.Pool.CloseFile(name))
	}
	if rerr := e.Renew(e.Layout.Schema, nil, e.Layout.First); rerr != nil {
		return errors.Join(err, rerr)
	}
	if e.Seal.late = nil; !further { // everything is written anew
		e.File.Name, e.File.Final, e.File.Made, e.Layout.Base = name, final, made, base
	}
	return err
}

// remember keeps what is kept of puts until the commit that is about to write it is in force.
func (s *keptPuts) remember() {
	s.before = make([][]Pend, len(s.lists))
	for i, l := range s.lists {
		s.before[i] = slices.Clone(l)
	}
	if s.lists == nil {
		s.before = make([][]Pend, len(s.lay.Table.ID))
	}
}

// unnote forgets puts that were noted as done, and have not come to the file.
func (t *tally) unnote(lists [][]Pend) {
	for i, l := range lists {
		for k := range l {
			t.Done.unset(i, &l[k], t.lay.Schema.Vars[l[k].V].Record)
		}
	}
}

// syncs is the error of a sync: what a system had no space for then, it may have given up, so the writer cannot go on.
func (s *sealer) syncs(err error) error {
	if err != nil {
		s.late = fmt.Errorf("%w: %w", dataset.ErrBroken, err)
	}
	return err
}

// announced says, on world rank 0, that the announcement of this writer is there, and no record of a commit in its place.
func (c *commits) announced() bool {
	st, _ := subfile.ReadState(c.job.Opt.Fs, c.job.Base) // what cannot be read is not there
	return st != nil && st.Writing && st.Intent != nil && st.Intent.Writer == c.job.Ten.Tag()
}
