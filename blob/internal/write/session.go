package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/subfile"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/comm/verdict"
)

// commit completes and syncs every subfile and collects their descriptions for the manifest on world rank 0. Package subfile
// describes the states of a commit. Collective.
func (w *Writer) commit(ctx context.Context, records int64) (*subfile.Manifest, error) {
	all, broken, err := w.Commits.seal(ctx, records)
	if w.Commits.MayBeInForce = broken != nil && w.Commits.going && w.Job.C.Rank() != 0; w.Commits.MayBeInForce { // rank 0 may have received all messages and go on
		broken = &dataset.InDoubtError{Base: w.Job.Base, Err: broken}
	}
	if broken != nil {
		w.State.Fail(broken)
		return nil, broken
	}
	if !w.Commits.going { // in later commits rank 0 receives errors with the descriptions, and all ranks receive them with the verdict
		if err := w.State.lastCall(ctx, err); err != nil {
			return nil, err
		}
	}
	return w.putInForce(ctx, all, records)
}

// putInForce writes the manifest and finishes the commit. Collective.
func (w *Writer) putInForce(ctx context.Context, all [][]byte, records int64) (*subfile.Manifest, error) {
	sync := w.Job.Opt.Durability == dataset.DurableCommit
	m, finished, err := w.Commits.record(ctx, all, records, sync)
	if err != nil {
		w.State.Fail(err)
		return nil, err
	}
	w.Commits.atts = nil
	// Readers see the new dataset from here on, even if a later step fails.
	if finished {
		return m, nil
	}
	if w.Commits.InPlace {
		if w.Job.Lead && w.Job.Eng.Layout.Table.ID[0] == 0 {
			err = w.Job.Eng.Seal.MoveRecords(records, w.Job.Opt.Durability != dataset.DurableNone)
			if cerr := w.Job.Eng.Proc.Pool.CloseFile(w.Job.Eng.File.Name); err == nil {
				err = cerr
			}
		}
		if err := comm.Agree(ctx, w.Job.C, w.Job.Unfinished(err)); err != nil {
			return nil, w.Job.Unfinished(err)
		}
	}
	if !w.Commits.going {
		err = w.Job.Ten.Leave() // this rank no longer touches any file
	}
	switch {
	case w.Commits.late != nil: // finishing was tried already
		err = w.Commits.late
	case w.Job.C.Rank() == 0 && err == nil:
		err = w.Commits.Finish(m, sync)
	}
	return m, w.Job.Unfinished(comm.Agree(ctx, w.Job.C, w.Job.Unfinished(err)))
}

// giveRoomUp shrinks a compressed set, which has room for Options.Records, to the records of its first commit. Without this, the
// index would list chunks of records that are not committed. Each later commit adds a set, as without Options.Records. Puts of
// later records wait in memory for later sets. Collective.
func (w *Writer) giveRoomUp(ctx context.Context, records int64) (err error) {
	w.Job.Opt.Records = 0
	if w.Job.Lead {
		err = w.Job.Eng.giveRoomUp(records)
	}
	return w.State.guard(ctx, err)
}

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
	w.Held.late = nil // this commit decides anew which records to hold back
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

// Committed returns the number of committed records, including the records of earlier sessions.
func (w *Writer) Committed() int64 { return w.Commits.Sealed }

// settleDue completes a commit that CommitAsync has started. Collective.
func (w *Writer) settleDue(ctx context.Context) error {
	if !w.Commits.due || w.State.Err != nil {
		return nil
	}
	w.Commits.due = false
	err := w.Puts.land(ctx) // only a leader has an error
	if err = w.commitNow(ctx, err); err == nil || errors.As(err, &w.Held.late) {
		w.Puts.landed()
		return nil
	}
	return err
}

// commitNow commits the puts that are in the files or in keptPuts. Only the leader of a process passes an error. A cancelled
// context does not stop a commit that the ranks have begun.
func (w *Writer) commitNow(ctx context.Context, err error) error {
	ctx = context.WithoutCancel(ctx)
	w.Held.Last = nil
	if w.Commits.Count > 0 && w.Commits.Known <= w.Commits.Sealed && !w.Puts.flying && len(w.Commits.atts) == 0 {
		return nil // no rank has put anything since the last commit
	}
	if w.Commits.Count > 0 && !w.Job.Opt.Keeps() {
		err = w.growWhole(ctx, err)
	} else {
		err = w.commitWhole(ctx, err)
	}
	if err != nil {
		return err
	}
	if w.Commits.Count > 0 { // an append without a commit has no log
		w.Held.written = w.Held.Last
	}
	if w.Held.Last != nil {
		return w.Held.Last
	}
	return nil
}

// commitWhole commits the complete records in the first commit, or if files do not grow.
func (w *Writer) commitWhole(ctx context.Context, err error) error {
	records, whole, err := w.Commits.agreeRecords(ctx, err)
	if err == nil && !w.Job.Opt.FillIncomplete && records < w.Commits.Known {
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

// firstCommit commits like Close, but with a manifest that marks the writer as continuing. Collective.
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

// SetAtt is blob.Writer.SetAtt.
func (w *Writer) SetAtt(ctx context.Context, v dataset.VarID, name string, value any) error {
	ctx = comm.In(ctx, "Writer.SetAtt")
	a, err := dataset.AttOf(name, value)
	of := ""
	switch {
	case w.State.Err != nil:
		return w.State.Err
	case w.State.closed:
		err = fault.Usage("attribute %q is set after Close", name)
	case err != nil:
		err = fault.Usage("%v", err)
	case v < -1 || int(v) >= len(w.Job.Schema.Vars):
		err = fault.Usage("attribute %q of variable id %d, want -1..%d", name, v, len(w.Job.Schema.Vars)-1)
	case slices.Contains(dataset.FixedAtts, name):
		err = fault.Usage("attribute %q cannot be changed after the files are created", name)
	case v >= 0:
		of = w.Job.Schema.Vars[v].Name
	}
	var info subfile.AttInfo
	if err == nil {
		info, err = dataset.EncodeAtt(of, &a)
	}
	n := int64(len(info.Data) + len(info.Name))
	if err == nil && w.Commits.AttBytes+n > MaxSetAtts {
		err = fmt.Errorf("attribute %q of %d bytes: the manifest has %d bytes of attributes, want at most %d: %w", name, len(info.Data), w.Commits.AttBytes, MaxSetAtts, dataset.ErrTooLarge)
	}
	h := int64(crc32.ChecksumIEEE([]byte(info.Var + "\x00" + info.Name + "\x00" + info.Type + "\x00" + string(info.Data))))
	alike, err := comm.AgreeMin(ctx, w.Job.C, err, h, ^h)
	if err != nil {
		return err
	}
	if alike[0] != ^alike[1] {
		return fault.Usage("the ranks set different values for attribute %q", name)
	}
	w.Commits.atts, w.Commits.AttBytes = append(w.Commits.atts, info), w.Commits.AttBytes+n
	return nil
}

// MaxSetAtts limits the total size of set attributes. The total includes replaced values, because the log keeps them. Readers do
// not accept a larger manifest or log.
const MaxSetAtts = 256 << 20

// commitAtts commits attributes and the reason for held-back records, but no records, after the first commit. Collective.
func (w *Writer) commitAtts(ctx context.Context) error {
	if w.Commits.Count == 0 || len(w.Commits.atts) == 0 && !w.Held.news() {
		return nil // the first commit, or Close, writes the attributes
	}
	var part func() error
	if w.Job.C.Rank() == 0 {
		part = func() error {
			return w.Commits.addEntry(&subfile.Entry{Records: w.Commits.Sealed, Atts: w.Commits.atts, Held: w.Held.Last.Info()})
		}
	}
	outcome, err := verdict.Commit(ctx, w.Job.C, part)
	if err = w.State.judged(outcome, err); err == nil {
		w.Commits.atts = nil
	}
	return err
}
