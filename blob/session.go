package blob

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// Commit makes what was put so far the committed state, durable and whole as Close would make it, and the writer goes on. A reader that opens the
// dataset then, or whenever it does after the writer has died, finds it; one that is open keeps its state. It flushes first.
//
// Records are committed whole: those before the first that lacks something, or all with fill values, see
// Options.Incomplete. A record lacks what some rank has not put of a variable that has values: any rank has put it in this session, of this record or another,
// or the records before the session have something else of it than fill values. A variable without values is fill, as in netCDF. Committed says how many are committed. If records that were put are held back, Commit returns a
// HeldBackError, which names the first of them and what it lacks, after it has committed those before; the writer goes on as if
// there had been no error. Fixed variables are committed by the first Commit, which fills those that nobody has put. What is
// committed cannot be put again: a later put is ErrUsage.
//
// Variable-centric subfiles grow in place, and so do process-centric ones with Options.Records that are not compressed. Otherwise each Commit with new records
// writes a further set of subfiles, as an append does; Convert makes one of them. Until Close the dataset has a log beside the manifest,
// docs/format-manifest.md.
//
// After an error the writer has failed, and what was committed before is in force; after an InDoubtError, perhaps this commit, and after
// an UnfinishedError this one. But where only space was lacking (syscall.ENOSPC), all ranks can call Commit again when there is some, as often as it takes: everything
// that was put is kept, so what was lent stays lent. Close without that is the error again. That is so on a local file system, for what is not compressed and was not left to the background. Collective.
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

// CommitAsync is Commit in the background: it begins to write what was put, as FlushAsync does, and returns. The commit is made by the next
// call that is collective (Wait, Flush, Commit, Close, each also in the background), since the background never
// communicates; its error is that call's, also a HeldBackError, with which the call has done its work. What was put before CommitAsync must not be put again. Collective.
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
func (w *Writer) Committed() int64 { return w.sealed }

func (w *Writer) mayGoOn() error {
	if w.closed {
		return fault.Usage("commit after Close")
	}
	return nil
}

// settleDue makes the commit that CommitAsync has begun. Collective.
func (w *Writer) settleDue(ctx context.Context) error {
	if !w.due || w.err != nil {
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
	if w.commits == 0 {
		return nil
	}
	past := func(p *pend) bool {
		if p.v == noVariable {
			err = fault.Usage("put of a fixed variable: CommitAsync has committed those of the time before; nothing of this put is kept")
			return true
		}
		sv := &w.eng.schema.vars[p.v]
		if sv.Record && p.rec >= w.sealed {
			return false
		}
		err = fault.Usage("put of %q record %d: CommitAsync has committed it, with what was put before; nothing of this put is kept", sv.Name, p.rec)
		return true
	}
	w.pending = slices.DeleteFunc(w.pending, func(p pend) bool { return past(&p) })
	w.parts = slices.DeleteFunc(w.parts, func(p part) bool { return past(&p.pend) })
	w.dropSeen(past)
	return err
}

// commitNow commits what is in the files, or kept for them. err is of this process's leader alone. Once the ranks have begun to
// commit, they do not stop half way because a context is done.
func (w *Writer) commitNow(ctx context.Context, err error) error {
	ctx = context.WithoutCancel(ctx)
	w.held = nil
	if w.commits > 0 && w.known <= w.sealed && !w.flying && len(w.atts) == 0 {
		return nil // nobody has put anything since
	}
	if w.commits > 0 && !w.opt.keeps() {
		err = w.growWhole(ctx, err)
	} else {
		err = w.commitWhole(ctx, err)
	}
	if err != nil {
		return err
	}
	if w.commits > 0 { // an append that has committed nothing has no log to write it to
		w.heldWritten = w.held
	}
	if w.held != nil {
		return w.held
	}
	return nil
}

// commitWhole commits the records that are whole where files do not grow, or for the first time.
func (w *Writer) commitWhole(ctx context.Context, err error) error {
	records, whole, err := w.agreeRecords(ctx, err)
	if err == nil && w.opt.Incomplete == HoldBack && records < w.known {
		whole = false
		records, _, err = w.settleRecords(ctx)
	}
	if err != nil {
		w.fail(err)
		return err
	}
	if records == w.sealed && (w.commits > 0 || w.info.old != nil) {
		return w.commitAtts(ctx)
	}
	if w.commits > 0 {
		return w.addSet(ctx, records)
	}
	if w.opt.Compress.on() && !w.opt.keeps() {
		if err := w.giveRoomUp(ctx, records); err != nil {
			return err
		}
	}
	return w.firstCommit(ctx, records, whole)
}

// agreeRecords returns how many records are to be committed, and whether nothing of them is left to be written, as far as that is known.
func (w *Writer) agreeRecords(ctx context.Context, err error) (records int64, whole bool, _ error) {
	n, idle := w.known, int64(0)
	if err == nil && w.lead {
		w.eng.known = w.known // where nothing is left to complete, that does not say it
		if err = w.eng.drain(); err == nil && w.opt.Incomplete == HoldBack {
			n = w.eng.wholeTo(w.known, nil)
		}
	}
	if err == nil && w.commits == 0 && w.apart() && !w.opt.keeps() && w.eng.mapsOut && len(w.eng.missing(n)[0]) == 0 {
		idle = 1
	}
	v, err := comm.AgreeMin(ctx, w.c, err, n, ^n, idle)
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
		if w.err == nil {
			w.fail(err)
		}
		return err
	}
	if w.c.Rank() == 0 {
		w.info.old, w.info.was = m.Clone(), m.ID
	}
	w.commits, w.committed = 1, false
	w.info.replace, w.info.added = false, nil
	w.sets++
	if w.opt.keeps() {
		return w.unfinished(w.nextSet(ctx, records))
	}
	w.sealed = records
	if w.lead {
		e := w.eng
		e.name, e.made, e.appended = e.final, false, true
		e.advance(records)
	}
	return nil
}

// goOn gets ready for the commits after the first one, on world rank 0, before that is in force.
func (w *Writer) goOn() (err error) {
	if w.info.rename {
		if err = w.share(); err != nil { // the others open files under final names from now on
			return err
		}
	}
	w.log, err = subfile.CreateLog(w.opt.fs, w.base, w.ten.tag())
	return err
}

// end makes the rest the last commit, and says that the writer has come to its end. Collective.
func (w *Writer) end(ctx context.Context, records int64) (err error) {
	ctx = context.WithoutCancel(ctx)
	if records > w.sealed {
		if w.opt.keeps() {
			err = w.addSet(ctx, records)
		} else {
			_, err = w.grow(ctx, records, nil, growFilled)
		}
		if err != nil {
			return err
		}
	}
	if w.lead {
		if err = w.eng.drain(); err == nil {
			err = w.eng.late
		}
		if err == nil {
			err = w.eng.finish(w.sub.Rank() == 0, records, w.opt.Durability != DurableNone)
		}
		if cerr := w.eng.proc.pool.Close(); err == nil {
			err = cerr
		}
	}
	if err = comm.Agree(ctx, w.c, w.ten.explain(err)); err != nil {
		err = w.unfinished(err)
		w.fail(err)
		return err
	}
	err = w.ten.leave() // this rank touches no file any more
	if w.c.Rank() == 0 && err == nil {
		err = w.log.Close()
		w.info.old.AddAtts(w.atts)
		if err == nil {
			_, err = subfile.Fold(w.opt.fs, w.base, w.info.old, w.opt.Durability == DurableCommit, w.ten.byIf(w.mayCommit))
		}
		if err == nil {
			err = w.ten.lease.Settle()
		}
	}
	err = w.unfinished(comm.Agree(ctx, w.c, w.unfinished(w.ten.explain(err))))
	_ = w.ten.release() // a lease that could not be removed ends with the process
	return err
}

// addEntry puts an entry in force, on world rank 0.
func (w *Writer) addEntry(e *subfile.Entry) error {
	m := w.info.old
	e.ID, e.Commit = m.ID, m.Commits+1
	if err := m.Apply(e); err != nil {
		return err
	}
	err := w.ten.explain(w.log.Add(e, w.opt.Durability == DurableCommit, w.ten.by()))
	if errors.Is(err, durable.ErrUnsure) {
		err = &InDoubtError{w.base, err}
	} else if vfs.Full(err) { // the entry has come to nothing, and may be tried again
		st, rerr := subfile.ReadState(w.opt.fs, w.base)
		if rerr != nil {
			return fmt.Errorf("%v: %w: %w", err, ErrBroken, rerr)
		}
		w.info.old = st.Manifest
	}
	return err
}
