package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/subfile"
	"context"
	"slices"
)

// closeWithAtts ends an append that has attributes but no puts, and therefore no files of its own. Collective.
func (w *Writer) closeWithAtts(ctx context.Context, records int64) (err error) {
	w.Commits.going = false
	if w.Job.Lead {
		if err = w.Job.Eng.background.drain(); err == nil && !w.Commits.InPlace {
			w.Files.removeMade()
		}
	}
	if err = w.State.lastCall(ctx, w.Job.Ten.Explain(err)); err == nil {
		_, err = w.putInForce(ctx, nil, records)
	}
	if w.Job.Lead {
		w.Job.Eng.Proc.Pool.Close()
	}
	_ = w.Job.Ten.Release() // the operating system releases the lease at exit
	return err
}

// end commits the remaining records and marks the writer as finished. Collective.
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
	err = w.Job.Ten.Leave() // this rank no longer touches any file
	if w.Job.C.Rank() == 0 && err == nil {
		err = w.Commits.log.Close()
		w.Commits.Old.AddAtts(w.Commits.atts)
		if err == nil {
			_, err = subfile.Fold(w.Job.Opt.Fs, w.Job.Base, w.Commits.Old, w.Job.Opt.Durability == dataset.DurableCommit, w.Job.Ten.ByIf(w.Commits.mayCommit))
		}
		if err == nil {
			err = w.Job.Ten.Lease.Settle()
		}
	}
	err = w.Job.Unfinished(comm.Agree(ctx, w.Job.C, w.Job.Unfinished(w.Job.Ten.Explain(err))))
	_ = w.Job.Ten.Release() // the operating system releases the lease at exit
	return err
}

// Close is blob.Writer.Close.
func (w *Writer) Close(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.Close")
	if w.State.closed {
		return fault.Usage("close after Close")
	}
	if w.State.lacked != nil { // the last collective failed for lack of space and was not repeated, so Close must not commit
		w.State.Fail(w.State.lacked)
	}
	records, err := w.post(ctx, false)
	w.State.closed = true
	if err != nil {
		w.State.abandon()
		return err
	}
	records, w.Held.Last = max(records, w.Job.Limit), nil
	if w.Commits.Count > 0 {
		return w.end(ctx, records)
	}
	w.Commits.going = false
	if records == w.Puts.First { // an added variable exists only if it has a record
		w.Commits.atts = slices.DeleteFunc(w.Commits.atts, func(a subfile.AttInfo) bool { return slices.Contains(w.Commits.Added, a.Var) })
	}
	if w.Commits.Old != nil && records == w.Puts.First && len(w.Commits.atts) > 0 {
		return w.closeWithAtts(ctx, records)
	}
	if w.Commits.Old != nil && records == w.Puts.First {
		w.State.abandon() // nothing to add, so the dataset stays unchanged
		return w.Job.C.Barrier(ctx)
	}
	if err := w.complete(ctx, records); err != nil {
		return err
	}
	_, err = w.commit(ctx, records)
	if w.Job.Lead {
		w.Job.Eng.Proc.Pool.Close()
	}
	_ = w.Job.Ten.Release() // the operating system releases the lease at exit
	return err
}

// complete writes the kept puts. Variables and records that were never put get fill values. Collective.
func (w *Writer) complete(ctx context.Context, records int64) error {
	e := w.Job.Eng
	err := w.Files.place(records)
	var lists [][]Pend
	if w.Job.Lead {
		if e.Seal.known = w.Commits.Known; w.Commits.soft && e.opt.Keeps() {
			e.Kept.remember()
		}
		lists = e.Kept.Missing(records)
	}
	b := Flushing{alike: allAlike}
	switch {
	case !w.Job.apart():
	case e.opt.Keeps():
		b.keys = e.Layout.allKeys(records) // every variable and record
	default:
		b.keys = e.Layout.keysOf(lists[0], nil, nil)
		idle := int64(1)
		if len(lists[0]) > 0 || !e.Layout.MapsOut {
			idle = 0
		}
		v, err := comm.AgreeMin(ctx, w.Job.C, err, append(e.hashKeys(b.keys, e.Layout.wholeKeyWords(b.keys)), idle)...)
		if err != nil {
			w.State.Fail(err)
			return err
		}
		if v[hashWords] == 1 {
			return nil
		}
		b.alike = alikeOf(v)
	}
	if w.Job.Lead {
		err = e.background.alone(func() error {
			_, err := e.Write(ctx, lists, b, nil, err)
			return err
		})
		if e.Proc.Release(e.Kept.freed); e.Kept.before == nil {
			e.Kept.freed = 0
		}
	}
	err = comm.Agree(ctx, w.Job.C, w.Job.Ten.Explain(err))
	if err != nil && w.Job.Lead && !e.opt.Keeps() {
		e.Tally.unnote(lists)
	}
	if err != nil {
		w.State.Fail(err)
	}
	return err
}

// Abort is blob.Writer.Abort.
func (w *Writer) Abort() {
	w.State.closed = true
	w.State.abandon()
}
