package write

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// Commit is blob.Writer.Commit.
func (w *Writer) Commit(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.Commit")
	if err := w.mayGoOn(); err != nil {
		return err
	}
	defer w.again()()
	if _, err := w.post(ctx, false); err != nil {
		return err
	}
	w.heldLate = nil // this commit finds what is still so
	return w.commitNow(ctx, nil)
}

// CommitAsync is blob.Writer.CommitAsync.
func (w *Writer) CommitAsync(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.CommitAsync")
	if err := w.mayGoOn(); err != nil {
		return err
	}
	w.lacked = nil
	if _, err := w.post(ctx, true); err != nil {
		return err
	}
	w.due = true
	return w.takeHeld()
}

// Committed returns how many records are committed: those before this session, and those of its commits.
func (w *Writer) Committed() int64 { return w.Sealed }

func (w *Writer) mayGoOn() error {
	if w.closed {
		return fault.Usage("commit after Close")
	}
	return nil
}

// settleDue makes the commit that CommitAsync has begun. Collective.
func (w *Writer) settleDue(ctx context.Context) error {
	if !w.due || w.Err != nil {
		return nil
	}
	w.due = false
	err := w.land(ctx) // of a leader
	if err = w.commitNow(ctx, err); err == nil || errors.As(err, &w.heldLate) {
		w.landed()
		return nil
	}
	return err
}

// dropCommitted drops puts of what a commit in the background has committed since.
func (w *Writer) dropCommitted() (err error) {
	if w.Commits == 0 {
		return nil
	}
	past := func(p *Pend) bool {
		if p.V == noVariable {
			err = fault.Usage("put of a fixed variable: CommitAsync has committed those of the time before; nothing of this put is kept")
			return true
		}
		sv := &w.Eng.Schema.Vars[p.V]
		if sv.Record && p.Rec >= w.Sealed {
			return false
		}
		err = fault.Usage("put of %q record %d: CommitAsync has committed it, with what was put before; nothing of this put is kept", sv.Name, p.Rec)
		return true
	}
	w.pending = slices.DeleteFunc(w.pending, func(p Pend) bool { return past(&p) })
	w.parts = slices.DeleteFunc(w.parts, func(p part) bool { return past(&p.Pend) })
	w.dropSeen(past)
	return err
}

// commitNow commits what is in the files, or kept for them. err is of this process's leader alone. Once the ranks have begun to
// commit, they do not stop half way because a context is done.
func (w *Writer) commitNow(ctx context.Context, err error) error {
	ctx = context.WithoutCancel(ctx)
	w.Held = nil
	if w.Commits > 0 && w.Known <= w.Sealed && !w.flying && len(w.atts) == 0 {
		return nil // nobody has put anything since
	}
	if w.Commits > 0 && !w.Opt.Keeps() {
		err = w.growWhole(ctx, err)
	} else {
		err = w.commitWhole(ctx, err)
	}
	if err != nil {
		return err
	}
	if w.Commits > 0 { // an append that has committed nothing has no log to write it to
		w.heldWritten = w.Held
	}
	if w.Held != nil {
		return w.Held
	}
	return nil
}

// commitWhole commits the records that are whole where files do not grow, or for the first time.
func (w *Writer) commitWhole(ctx context.Context, err error) error {
	records, whole, err := w.agreeRecords(ctx, err)
	if err == nil && !w.Opt.FillIncomplete && records < w.Known {
		whole = false
		records, _, err = w.settleRecords(ctx)
	}
	if err != nil {
		w.Fail(err)
		return err
	}
	if records == w.Sealed && (w.Commits > 0 || w.Info.Old != nil) {
		return w.commitAtts(ctx)
	}
	if w.Commits > 0 {
		return w.addSet(ctx, records)
	}
	if w.Opt.Compress.On() && !w.Opt.Keeps() {
		if err := w.giveRoomUp(ctx, records); err != nil {
			return err
		}
	}
	return w.firstCommit(ctx, records, whole)
}

// agreeRecords returns how many records are to be committed, and whether nothing of them is left to be written, as far as that is known.
func (w *Writer) agreeRecords(ctx context.Context, err error) (records int64, whole bool, _ error) {
	n, idle := w.Known, int64(0)
	if err == nil && w.Lead {
		w.Eng.known = w.Known // where nothing is left to complete, that does not say it
		if err = w.Eng.drain(); err == nil && !w.Opt.FillIncomplete {
			n = w.Eng.wholeTo(w.Known, nil)
		}
	}
	if err == nil && w.Commits == 0 && w.apart() && !w.Opt.Keeps() && w.Eng.MapsOut && len(w.Eng.Missing(n)[0]) == 0 {
		idle = 1
	}
	v, err := comm.AgreeMin(ctx, w.C, err, n, ^n, idle)
	if err != nil {
		return 0, false, err
	}
	return v[0], v[2] == 1 && v[0] == ^v[1], nil
}

// firstCommit makes the dataset whole as Close does, with a manifest that says that the writer goes on. Collective.
func (w *Writer) firstCommit(ctx context.Context, records int64, whole bool) error {
	if !whole {
		if err := w.complete(ctx, records); err != nil {
			return err
		}
	}
	w.going = true
	m, err := w.commit(ctx, records)
	if err != nil {
		if w.Err == nil {
			w.Fail(err)
		}
		return err
	}
	if w.C.Rank() == 0 {
		w.Info.Old, w.Info.Was = m.Clone(), m.ID
	}
	w.Commits, w.MayBeInForce = 1, false
	w.Info.replace, w.Info.Added = false, nil
	w.Sets++
	if w.Opt.Keeps() {
		return w.Unfinished(w.nextSet(ctx, records))
	}
	w.Sealed = records
	if w.Lead {
		e := w.Eng
		e.Name, e.Made, e.Appended = e.Final, false, true
		e.advance(records)
	}
	return nil
}

// goOn gets ready for the commits after the first one, on world rank 0, before that is in force.
func (w *Writer) goOn() (err error) {
	if w.Info.Rename {
		if err = w.Share(); err != nil { // the others open files under final names from now on
			return err
		}
	}
	w.log, err = subfile.CreateLog(w.Opt.Fs, w.Base, w.Ten.Tag())
	return err
}

// end makes the rest the last commit, and says that the writer has come to its end. Collective.
func (w *Writer) end(ctx context.Context, records int64) (err error) {
	ctx = context.WithoutCancel(ctx)
	if records > w.Sealed {
		if w.Opt.Keeps() {
			err = w.addSet(ctx, records)
		} else {
			_, err = w.grow(ctx, records, nil, growFilled)
		}
		if err != nil {
			return err
		}
	}
	if w.Lead {
		if err = w.Eng.drain(); err == nil {
			err = w.Eng.late
		}
		if err == nil {
			err = w.Eng.finish(w.sub.Rank() == 0, records, w.Opt.Durability != dataset.DurableNone)
		}
		if cerr := w.Eng.Proc.Pool.Close(); err == nil {
			err = cerr
		}
	}
	if err = comm.Agree(ctx, w.C, w.Ten.Explain(err)); err != nil {
		err = w.Unfinished(err)
		w.Fail(err)
		return err
	}
	err = w.Ten.Leave() // this rank touches no file any more
	if w.C.Rank() == 0 && err == nil {
		err = w.log.Close()
		w.Info.Old.AddAtts(w.atts)
		if err == nil {
			_, err = subfile.Fold(w.Opt.Fs, w.Base, w.Info.Old, w.Opt.Durability == dataset.DurableCommit, w.Ten.byIf(w.mayCommit))
		}
		if err == nil {
			err = w.Ten.Lease.Settle()
		}
	}
	err = w.Unfinished(comm.Agree(ctx, w.C, w.Unfinished(w.Ten.Explain(err))))
	_ = w.Ten.Release() // a lease that could not be removed ends with the process
	return err
}

// addEntry puts an entry in force, on world rank 0.
func (w *Writer) addEntry(e *subfile.Entry) error {
	m := w.Info.Old
	e.ID, e.Commit = m.ID, m.Commits+1
	if err := m.Apply(e); err != nil {
		return err
	}
	err := w.Ten.Explain(w.log.Add(e, w.Opt.Durability == dataset.DurableCommit, w.Ten.By()))
	if errors.Is(err, durable.ErrUnsure) {
		err = &dataset.InDoubtError{Base: w.Base, Err: err}
	} else if vfs.Full(err) { // the entry has come to nothing, and may be tried again
		st, rerr := subfile.ReadState(w.Opt.Fs, w.Base)
		if rerr != nil {
			return fmt.Errorf("%v: %w: %w", err, dataset.ErrBroken, rerr)
		}
		w.Info.Old = st.Manifest
	}
	return err
}
