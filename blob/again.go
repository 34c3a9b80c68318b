package blob

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"blobio/blob/internal/layout"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// again lets the collective that begins fail for want of space without an end of the writer; what it returns ends that. All that was put is in memory
// then, or in a file that its own disk holds: a file server may tell of the space that it lacked for what it was given before.
func (w *Writer) again() (end func()) {
	w.lacked = nil
	w.soft = w.err == nil && w.eng != nil && !w.flying && !w.due && !w.opt.Compress.on() && w.opt.fs.Local(w.base)
	return func() {
		if w.soft = false; w.lead && w.eng != nil {
			w.eng.wasKept = nil
		}
	}
}

// goesOn undoes what a collective has begun that failed on all ranks for want of space, so that a later one can do all of it. It reports whether that is
// so. What is committed is not touched, and what was put is kept.
func (w *Writer) goesOn(err error) bool {
	if w.lacked != nil && w.soft {
		return true // reported before
	}
	for _, ends := range []error{durable.ErrUnsure, ErrInUse, ErrBroken} {
		if errors.Is(err, ends) {
			return false
		}
	}
	if !w.soft || w.err != nil || w.committed || w.flying || !vfs.Full(err) || errors.As(err, new(*InDoubtError)) || errors.As(err, new(*UnfinishedError)) {
		return false
	}
	w.lacked = err
	if w.commits == 0 {
		w.going = false
	}
	if w.commits == 0 && w.log != nil {
		_ = w.log.Close()
		_ = w.opt.fs.Remove(subfile.LogName(w.base, w.ten.tag())) // if it stays, the next commit fails
		w.log = nil
	}
	if w.opt.keeps() {
		w.placed = false
	}
	var undone error
	if w.lead {
		undone = w.eng.undo(w.commits > 0)
	}
	if w.c.Rank() == 0 && w.named { // of a set without an entry
		undone = errors.Join(undone, w.unname())
	}
	if undone != nil {
		w.eng.late = fmt.Errorf("%w: %w", ErrBroken, undone) // for the next collective to tell
	}
	if !w.apart() { // no rank goes on with an engine that is being changed
		_ = w.c.Barrier(context.Background())
	}
	return true
}

// unname removes, on world rank 0, the subfiles of a set that was not committed from their final names.
func (w *Writer) unname() error {
	w.named = false
	if err := w.ten.check(); err != nil {
		return err
	}
	for i := range w.info.subfiles {
		if err := durable.Remove(w.opt.fs, subfile.Name(w.set, i)); err != nil {
			return err
		}
	}
	return w.opt.fs.SyncDir(subfile.Dir(w.base))
}

// undo makes the engine ready to write anew what a collective has not brought to its end. further: its file would have been of a set after the first.
func (e *engine) undo(further bool) error {
	if !e.opt.keeps() {
		if !further && !e.appended { // the maps are written anew, too
			e.mapsOut = false
			for x := range int64(e.place.NumMaps() * layout.MapVars) {
				e.sums.Forget(x)
			}
		}
		return nil
	}
	if e.wasKept != nil {
		e.kept, e.wasKept = e.wasKept, nil
		e.proc.retake(e.freed)
		e.freed = 0
	}
	if e.name == "" {
		return nil
	}
	err := e.proc.pool.CloseFile(e.name)
	name, final, made, base, first := e.name, e.final, e.made, e.base, e.table.ID[0] == 0
	switch {
	case further && made:
		err = errors.Join(err, durable.Remove(e.opt.fs, name))
	case first && !further: // it is empty again, which is where space comes from
		f, done, oerr := e.file()
		if oerr == nil {
			oerr = f.Truncate(0)
			done()
		}
		err = errors.Join(err, oerr, e.proc.pool.CloseFile(name))
	}
	if rerr := e.renew(e.schema, nil, e.first); rerr != nil {
		return errors.Join(err, rerr)
	}
	if e.late = nil; !further { // everything is written anew
		e.name, e.final, e.made, e.base = name, final, made, base
	}
	return err
}

// remember keeps what is kept of puts until the commit that is about to write it is in force.
func (e *engine) remember() {
	e.wasKept = make([][]pend, len(e.kept))
	for i, l := range e.kept {
		e.wasKept[i] = slices.Clone(l)
	}
	if e.kept == nil {
		e.wasKept = make([][]pend, len(e.table.ID))
	}
}

// unnote forgets puts that were noted as done, and have not come to the file.
func (e *engine) unnote(lists [][]pend) {
	for i, l := range lists {
		for k := range l {
			e.done.unset(i, &l[k], e.schema.vars[l[k].v].Record)
		}
	}
}

// syncs is the error of a sync: what a system had no space for then, it may have given up, so the writer cannot go on.
func (e *engine) syncs(err error) error {
	if err != nil {
		e.late = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return err
}

// announced says, on world rank 0, that the announcement of this writer is there, and no record of a commit in its place.
func (w *Writer) announced() bool {
	st, _ := subfile.ReadState(w.opt.fs, w.base) // what cannot be read is not there
	return st != nil && st.Writing && st.Intent != nil && st.Intent.Writer == w.ten.tag()
}
