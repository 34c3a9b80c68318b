package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/verdict"
	"blobio/internal/subfile"
	"context"
	"errors"
	"fmt"
)

// announced says, on world rank 0, that the announcement of this writer is there, and no record of a commit in its place.
func (c *commits) announced() bool {
	st, _ := subfile.ReadState(c.job.Opt.Fs, c.job.Base) // what cannot be read is not there
	return st != nil && st.Writing && st.Intent != nil && st.Intent.Writer == c.job.Ten.Tag()
}

// Finish gives everything that is in force its final name, on world rank 0.
func (c *commits) Finish(m *subfile.Manifest, sync bool) error {
	err := subfile.Finish(c.job.Opt.Fs, c.job.Base, m, sync, c.job.Ten.By())
	if err == nil && c.claim.replace {
		err = subfile.RemoveStale(c.job.Opt.Fs, c.job.Base, m, c.job.Ten.By(), c.claim.replaced)
	}
	if err == nil {
		err = c.job.Ten.Lease.Settle() // a former writer's files are gone
	}
	return err
}

// record writes the prepared manifest; the error is agreed. If that fails the record is taken back;
// where even this fails it may be on disk or not, so no rank removes anything,
// and the next writer finds out. Of a writer that goes on it is finished in the same step: the number of
// records in files that grow is set behind it, as by later commits.
func (c *commits) record(ctx context.Context, all [][]byte, records int64, sync bool) (m *subfile.Manifest, finished bool, err error) {
	var part func() error
	atOnce, done := c.going, int64(1)
	if c.job.C.Rank() == 0 {
		part = func() error {
			var err error
			m, err = c.manifest(all, records)
			if err == nil && c.going {
				err = c.goOn()
			}
			if err != nil { // of any rank: no seal was written
				return c.job.Ten.Explain(err)
			}
			if err = c.WriteNext(m, sync); err == nil && atOnce {
				if c.late = c.Finish(m, sync); c.late != nil {
					done = 0
				}
			}
			return err
		}
	}
	outcome, v, err := verdict.CommitMin(ctx, c.job.C, part, func() []int64 { return []int64{done} })
	c.MayBeInForce = outcome != verdict.NotDone
	if outcome == verdict.InDoubt {
		err = c.job.inDoubt(err)
	}
	return m, err == nil && atOnce && v[0] == 1, err
}

// WriteNext writes the prepared manifest. If that fails it is taken back; where even this fails it is not known what is there.
func (c *commits) WriteNext(m *subfile.Manifest, sync bool) error {
	err := subfile.WriteNext(c.job.Opt.Fs, c.job.Base, m, sync, c.job.Ten.byIf(c.mayCommit))
	never := errors.Is(err, dataset.ErrInUse) // the check said so, so it has not got its name, and what is there may be the commit of who has taken over
	if err = c.job.Ten.Explain(err); err == nil || never || c.soft && vfs.Full(err) && c.announced() {
		return err
	}
	if rerr := subfile.DropNext(c.job.Opt.Fs, c.job.Base, c.job.Ten.Tag()); rerr != nil {
		return &dataset.InDoubtError{Base: c.job.Base, Err: errors.Join(err, rerr)}
	}
	return err
}

// mayCommit compares who holds the dataset, and what is in force, with what was when the writer began.
func (c *commits) mayCommit() error {
	if err := c.job.Ten.Check(); err != nil {
		return err
	}
	if id, _, err := subfile.Peek(c.job.Opt.Fs, c.job.Base); err != nil || id == c.claim.Was {
		return err
	}
	return fmt.Errorf("%s: another program has replaced the dataset, or renamed it, while it was being written: %w", c.job.Base, dataset.ErrInUse)
}

// agreeRecords returns how many records are to be committed, and whether nothing of them is left to be written, as far as that is known.
func (c *commits) agreeRecords(ctx context.Context, err error) (records int64, whole bool, _ error) {
	n, idle := c.Known, int64(0)
	if err == nil && c.job.Lead {
		c.job.Eng.Seal.known = c.Known // where nothing is left to complete, that does not say it
		if err = c.job.Eng.background.drain(); err == nil && !c.job.Opt.FillIncomplete {
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

// commits are the states of the dataset that are in force, and the one on its way.
type commits struct {
	job          *Job
	claim        *claim
	held         *heldBack
	Count        int64             // of this session
	Sets         int               // of the dataset, without the one that is being written
	Sealed       int64             // records below are committed
	Known        int64             // one more than the highest record that any rank knew of when they agreed last
	Old          *subfile.Manifest // of the dataset that is appended to
	Added        []string          // variables that it has not
	MapPrints    []string          // fingerprints of the maps
	InPlace      bool              // an append to the last set of files, which grow
	going        bool              // Commit was called: what is committed is not the end
	due          bool              // CommitAsync has been called, and no collective since
	log          *subfile.Log      // world rank 0: of the commits after the first
	atts         []subfile.AttInfo // to be committed; the same on all ranks
	AttBytes     int64             // of all attributes that were set
	MayBeInForce bool              // the prepared manifest may be on disk: nothing may be removed any more
	late         error             // world rank 0: of what is done behind the first commit, in the same step
	soft         bool              // a collective that lacks space is no end of the writer, see again
}
