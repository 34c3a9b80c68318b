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
	if err := w.State.open(); err != nil {
		return err
	}
	defer w.State.again()()
	if _, err := w.post(ctx, false); err != nil {
		return err
	}
	w.Held.late = nil // this commit finds what is still so
	return w.commitNow(ctx, nil)
}

// CommitAsync is blob.Writer.CommitAsync.
func (w *Writer) CommitAsync(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.CommitAsync")
	if err := w.State.open(); err != nil {
		return err
	}
	w.State.lacked = nil
	if _, err := w.post(ctx, true); err != nil {
		return err
	}
	w.Commits.due = true
	return w.Held.take()
}

// Committed returns how many records are committed: those before this session, and those of its commits.
func (w *Writer) Committed() int64 { return w.Commits.Sealed }

func (s *state) open() error {
	if s.closed {
		return fault.Usage("commit after Close")
	}
	return nil
}

// settleDue makes the commit that CommitAsync has begun. Collective.
func (w *Writer) settleDue(ctx context.Context) error {
	if !w.Commits.due || w.State.Err != nil {
		return nil
	}
	w.Commits.due = false
	err := w.Puts.land(ctx) // of a leader
	if err = w.commitNow(ctx, err); err == nil || errors.As(err, &w.Held.late) {
		w.Puts.landed()
		return nil
	}
	return err
}

// dropCommitted drops puts of what a commit in the background has committed since.
func (ps *puts) dropCommitted(sealed int64) (err error) {
	past := func(p *Pend) bool {
		if p.V == noVariable {
			err = fault.Usage("put of a fixed variable: CommitAsync has committed those of the time before; nothing of this put is kept")
			return true
		}
		sv := &ps.job.Eng.Layout.Schema.Vars[p.V]
		if sv.Record && p.Rec >= sealed {
			return false
		}
		err = fault.Usage("put of %q record %d: CommitAsync has committed it, with what was put before; nothing of this put is kept", sv.Name, p.Rec)
		return true
	}
	ps.list = slices.DeleteFunc(ps.list, func(p Pend) bool { return past(&p) })
	ps.parts = slices.DeleteFunc(ps.parts, func(p part) bool { return past(&p.Pend) })
	ps.dropSeen(past)
	return err
}

// commitNow commits what is in the files, or kept for them. err is of this process's leader alone. Once the ranks have begun to
// commit, they do not stop half way because a context is done.
func (w *Writer) commitNow(ctx context.Context, err error) error {
	ctx = context.WithoutCancel(ctx)
	w.Held.Last = nil
	if w.Commits.Count > 0 && w.Commits.Known <= w.Commits.Sealed && !w.Puts.flying && len(w.Commits.atts) == 0 {
		return nil // nobody has put anything since
	}
	if w.Commits.Count > 0 && !w.Job.Opt.Keeps() {
		err = w.growWhole(ctx, err)
	} else {
		err = w.commitWhole(ctx, err)
	}
	if err != nil {
		return err
	}
	if w.Commits.Count > 0 { // an append that has committed nothing has no log to write it to
		w.Held.written = w.Held.Last
	}
	if w.Held.Last != nil {
		return w.Held.Last
	}
	return nil
}

// commitWhole commits the records that are whole where files do not grow, or for the first time.
func (w *Writer) commitWhole(ctx context.Context, err error) error {
	records, whole, err := w.Commits.agreeRecords(ctx, err)
	if err == nil && w.Job.Opt.Incomplete == dataset.HoldBack && records < w.Commits.Known {
		whole = false
		records, _, err = w.Held.settleRecords(ctx, w.Commits.Known, w.Commits.Sealed)
	}
	if err != nil {
		w.State.Fail(err)
		return err
	}
	if records == w.Commits.Sealed && (w.Commits.Count > 0 || w.Commits.Old != nil) {
		return w.commitAtts(ctx)
	}
	if w.Commits.Count > 0 {
		return w.addSet(ctx, records)
	}
	if w.Job.Opt.Compress.On() && !w.Job.Opt.Keeps() {
		if err := w.giveRoomUp(ctx, records); err != nil {
			return err
		}
	}
	return w.firstCommit(ctx, records, whole)
}

// agreeRecords returns how many records are to be committed, and whether nothing of them is left to be written, as far as that is known.
func (c *commits) agreeRecords(ctx context.Context, err error) (records int64, whole bool, _ error) {
	n, idle := c.Known, int64(0)
	if err == nil && c.job.Lead {
		c.job.Eng.Seal.known = c.Known // where nothing is left to complete, that does not say it
		if err = c.job.Eng.background.drain(); err == nil && c.job.Opt.Incomplete == dataset.HoldBack {
			n = c.job.Eng.Tally.wholeTo(c.Known, nil)
		}
	}
	if err == nil && c.Count == 0 && c.job.apart() && !c.job.Opt.Keeps() && c.job.Eng.Layout.MapsOut && len(c.job.Eng.Kept.Missing(n)[0]) == 0 {
		idle = 1
	}
	v, err := comm.AgreeMin(ctx, c.job.C, err, n, ^n, idle)
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
	w.Commits.going = true
	m, err := w.commit(ctx, records)
	if err != nil {
		if w.State.Err == nil {
			w.State.Fail(err)
		}
		return err
	}
	if w.Job.C.Rank() == 0 {
		w.Commits.Old, w.Claim.Was = m.Clone(), m.ID
	}
	w.Commits.Count, w.Commits.MayBeInForce = 1, false
	w.Claim.replace, w.Commits.Added = false, nil
	w.Commits.Sets++
	if w.Job.Opt.Keeps() {
		return w.Job.Unfinished(w.nextSet(ctx, records))
	}
	w.Commits.Sealed = records
	if w.Job.Lead {
		e := w.Job.Eng
		e.File.Name, e.File.Made, e.Layout.Appended = e.File.Final, false, true
		e.advance(records)
	}
	return nil
}

// goOn gets ready for the commits after the first one, on world rank 0, before that is in force.
func (c *commits) goOn() (err error) {
	if c.claim.Rename {
		if err = c.job.Share(); err != nil { // the others open files under final names from now on
			return err
		}
	}
	c.log, err = subfile.CreateLog(c.job.Opt.Fs, c.job.Base, c.job.Ten.Tag())
	return err
}

// end makes the rest the last commit, and says that the writer has come to its end. Collective.
func (w *Writer) end(ctx context.Context, records int64) (err error) {
	ctx = context.WithoutCancel(ctx)
	if records > w.Commits.Sealed {
		if w.Job.Opt.Keeps() {
			err = w.addSet(ctx, records)
		} else {
			_, err = w.grow(ctx, records, nil, growFilled)
		}
		if err != nil {
			return err
		}
	}
	if w.Job.Lead {
		if err = w.Job.Eng.background.drain(); err == nil {
			err = w.Job.Eng.Seal.late
		}
		if err == nil {
			err = w.Job.Eng.Seal.finish(w.Job.sub.Rank() == 0, records, w.Job.Opt.Durability != dataset.DurableNone)
		}
		if cerr := w.Job.Eng.Proc.Pool.Close(); err == nil {
			err = cerr
		}
	}
	if err = comm.Agree(ctx, w.Job.C, w.Job.Ten.Explain(err)); err != nil {
		err = w.Job.Unfinished(err)
		w.State.Fail(err)
		return err
	}
	err = w.Job.Ten.Leave() // this rank touches no file any more
	if w.Job.C.Rank() == 0 && err == nil {
		err = w.Commits.log.Close()
		w.Commits.Old.AddAtts(w.Commits.atts)
		if err == nil {
			_, err = subfile.Fold(w.Job.Opt.Fs, w.Job.Base, w.Commits.Old, w.Job.Opt.Durability == dataset.DurableCommit, w.Job.Ten.byIf(w.Commits.mayCommit))
		}
		if err == nil {
			err = w.Job.Ten.Lease.Settle()
		}
	}
	err = w.Job.Unfinished(comm.Agree(ctx, w.Job.C, w.Job.Unfinished(w.Job.Ten.Explain(err))))
	_ = w.Job.Ten.Release() // a lease that could not be removed ends with the process
	return err
}

// addEntry puts an entry in force, on world rank 0.
func (c *commits) addEntry(e *subfile.Entry) error {
	m := c.Old
	e.ID, e.Commit = m.ID, m.Commits+1
	if err := m.Apply(e); err != nil {
		return err
	}
	err := c.job.Ten.Explain(c.log.Add(e, c.job.Opt.Durability == dataset.DurableCommit, c.job.Ten.By()))
	if errors.Is(err, durable.ErrUnsure) {
		err = &dataset.InDoubtError{Base: c.job.Base, Err: err}
	} else if vfs.Full(err) { // the entry has come to nothing, and may be tried again
		st, rerr := subfile.ReadState(c.job.Opt.Fs, c.job.Base)
		if rerr != nil {
			return fmt.Errorf("%v: %w: %w", err, dataset.ErrBroken, rerr)
		}
		c.Old = st.Manifest
	}
	return err
}
