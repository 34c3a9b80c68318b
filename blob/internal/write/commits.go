package write

import (
	"context"
	"errors"
	"fmt"
	"math"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/verdict"
	"blobio/internal/subfile"
)

// announced reports, on world rank 0, whether the announcement of this writer still exists, with no committed seal in its place.
func (c *commits) announced() bool {
	st, _ := subfile.ReadState(c.job.Opt.Fs, c.job.Base) // an unreadable seal counts as absent
	return st != nil && st.Writing && st.Intent != nil && st.Intent.Writer == c.job.Ten.Tag()
}

// Finish gives all committed files their final names. Only world rank 0 calls it.
func (c *commits) Finish(m *subfile.Manifest, sync bool) error {
	err := subfile.Finish(c.job.Opt.Fs, c.job.Base, m, sync, c.job.Ten.By())
	if err == nil && c.claim.replace {
		err = subfile.RemoveStale(c.job.Opt.Fs, c.job.Base, m, c.job.Ten.By(), c.claim.replaced)
	}
	if err == nil {
		err = c.job.Ten.Lease.Settle() // removes the files of the former writer
	}
	return err
}

// record writes the prepared manifest and agrees on the error. If the write fails, record removes the seal. If the removal fails
// too, the seal may be on disk, so no rank removes a file, and the next writer decides whether the commit counts. If the writer
// continues, record also finishes the commit.
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
			if err != nil { // some rank has failed, so no seal was written
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

// WriteNext writes the prepared manifest. If the write fails, it removes the seal; if the removal fails too, the result is an
// InDoubtError.
func (c *commits) WriteNext(m *subfile.Manifest, sync bool) error {
	err := subfile.WriteNext(c.job.Opt.Fs, c.job.Base, m, sync, c.job.Ten.ByIf(c.mayCommit))
	never := errors.Is(err, dataset.ErrInUse) // mayCommit failed before the rename, so a seal with this name belongs to the new writer
	if err = c.job.Ten.Explain(err); err == nil || never || c.soft && vfs.Full(err) && c.announced() {
		return err
	}
	if rerr := subfile.DropNext(c.job.Opt.Fs, c.job.Base, c.job.Ten.Tag()); rerr != nil {
		return &dataset.InDoubtError{Base: c.job.Base, Err: errors.Join(err, rerr)}
	}
	return err
}

// mayCommit checks that this writer still holds the dataset, and that no other program has changed the committed seal since this
// writer began.
func (c *commits) mayCommit() error {
	if err := c.job.Ten.Check(); err != nil {
		return err
	}
	if id, _, err := subfile.Peek(c.job.Opt.Fs, c.job.Base); err != nil || id == c.claim.Was {
		return err
	}
	return fmt.Errorf("%s: another program replaced or renamed the dataset during the write: %w", c.job.Base, dataset.ErrInUse)
}

// agreeRecords returns the number of records to commit, and whether all their data are known to be written.
func (c *commits) agreeRecords(ctx context.Context, err error) (records int64, whole bool, _ error) {
	n, idle := c.Known, int64(0)
	if err == nil && c.job.Lead {
		c.job.Eng.Seal.known = c.Known // this may be the only call that sets it
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

// goOn prepares for further commits, on world rank 0, before the first commit is in force.
func (c *commits) goOn() (err error) {
	if c.claim.Rename {
		if err = c.job.Share(); err != nil { // from now on other processes open files under final names
			return err
		}
	}
	c.log, err = subfile.CreateLog(c.job.Opt.Fs, c.job.Base, c.job.Ten.Tag())
	return err
}

// addEntry appends an entry to the log, which commits the entry. Only world rank 0 calls it.
func (c *commits) addEntry(e *subfile.Entry) error {
	m := c.Old
	e.ID, e.Commit = m.ID, m.Commits+1
	if err := m.Apply(e); err != nil {
		return err
	}
	err := c.job.Ten.Explain(c.log.Add(e, c.job.Opt.Durability == dataset.DurableCommit, c.job.Ten.By()))
	if errors.Is(err, durable.ErrUnsure) {
		err = &dataset.InDoubtError{Base: c.job.Base, Err: err}
	} else if vfs.Full(err) { // the entry is not in force, so the commit may be tried again
		st, rerr := subfile.ReadState(c.job.Opt.Fs, c.job.Base)
		if rerr != nil {
			return fmt.Errorf("%v: %w: %w", err, dataset.ErrBroken, rerr)
		}
		c.Old = st.Manifest
	}
	return err
}

// commits holds the committed states of the dataset and the commit in progress.
type commits struct {
	job          *Job
	claim        *claim
	held         *heldBack
	Count        int64             // commits of this session
	Sets         int               // sets of the dataset, without the set being written
	Sealed       int64             // records with lower numbers are committed
	Known        int64             // one more than the highest record of any rank at the last agreement
	Old          *subfile.Manifest // manifest of the dataset that is appended to
	Added        []string          // names of variables that Old lacks
	MapPrints    []string          // fingerprints of the maps
	InPlace      bool              // append to the last set, whose files grow
	going        bool              // Commit was called, so more commits may follow
	due          bool              // CommitAsync has been called, and no collective call has followed yet
	log          *subfile.Log      // world rank 0: the log, after the first commit
	atts         []subfile.AttInfo // attributes to commit, the same on all ranks
	AttBytes     int64             // size of all attributes set so far
	MayBeInForce bool              // the prepared manifest may be on disk, so no file may be removed
	late         error             // world rank 0: error of a step after the first commit
	soft         bool              // a full disk does not end the writer, see state.again
}

// HeldBackError is blob.HeldBackError.
type HeldBackError struct {
	Base      string
	Committed int64  // number of committed records; also the number of the first record that is held back
	Put       int64  // one more than the highest record that any rank has put
	Var       string // the missing variable: the first one that the lowest incomplete rank lacks
	Rank      int    // the rank that has not put Var; -1 if no rank has put Var and Var has no decomposition
}

// Error implements error.
func (e *HeldBackError) Error() string { return e.Base + ": " + e.Info().String() }

// Info returns the error as manifest and log store it.
func (e *HeldBackError) Info() *subfile.HeldBack {
	if e == nil {
		return nil
	}
	return &subfile.HeldBack{Record: e.Committed, Put: e.Put, Var: e.Var, Rank: e.Rank}
}

// news reports whether the files do not record these held-back records yet.
func (h *heldBack) news() bool {
	return h.Last != nil && (h.written == nil || *h.Last != *h.written)
}

// take returns the error of a background commit that held back records. A second call returns nil.
func (h *heldBack) take() error {
	if e := h.late; e != nil {
		h.late = nil
		return e
	}
	return nil
}

// settleRecords finds how many records can be committed although some process lacks data. First it finds the variables that no
// rank has ever put. Then it finds the first record that lacks another variable, and a rank that has not put that variable, and
// sets held. fill is true if the records to commit lack a variable that no rank has put. Collective.
func (h *heldBack) settleRecords(ctx context.Context, known, sealed int64) (records int64, fill bool, err error) {
	e := h.job.Eng
	ever := make([]int64, e.Layout.Exts.Recs) // 1 for each variable that some rank has put
	if h.job.Lead {
		copy(ever, e.Tally.ever)
	}
	if h.EverPut != nil {
		h.before, h.EverPut = h.EverPut(ctx), nil
	}
	for k, put := range h.before {
		ever[k] |= put
	}
	if ever, err = h.job.C.AllreduceInt64(ctx, ever, comm.Max); err != nil {
		return 0, false, err
	}
	never := func(v int) bool {
		sv := &e.Layout.Schema.Vars[v]
		return sv.Record && ever[e.Layout.RecordVar(v)] == 0
	}
	records = known
	if h.job.Lead {
		records = e.Tally.wholeTo(records, never)
	}
	first, err := h.job.C.AllreduceInt64(ctx, []int64{records}, comm.Min)
	if err != nil {
		return 0, false, err
	}
	records = first[0]
	for v := range e.Layout.Schema.Vars {
		fill = fill || never(v)
	}
	if h.uneven = fill || records < known; records == known {
		return records, fill && records > sealed, nil
	}
	who := []int64{math.MaxInt64}
	if v := h.lacks(records, never); v >= 0 {
		who[0] = int64(h.job.C.Rank())<<32 | int64(v)
	}
	if who, err = h.job.C.AllreduceInt64(ctx, who, comm.Min); err != nil {
		return 0, false, err
	}
	v, rank := int(who[0]&math.MaxUint32), int(who[0]>>32)
	if who[0] == math.MaxInt64 {
		return 0, false, fmt.Errorf("%s: record %d is incomplete, but no rank lacks data for it: %w", h.job.Base, records, dataset.ErrBroken)
	}
	if e.Layout.Schema.Vars[v].Decomp == 0 {
		rank = -1
	}
	h.Last = &HeldBackError{Base: h.job.Base, Committed: records, Put: known, Var: e.Layout.Schema.Vars[v].Name, Rank: rank}
	return records, fill && records > sealed, nil
}

// lacks returns the first variable of a record that this rank has not put, or -1.
func (h *heldBack) lacks(rec int64, never func(v int) bool) int {
	e, i := h.job.Eng, 0
	for i < len(e.Layout.Table.ID) && e.Layout.Table.ID[i] != h.job.sub.Rank() {
		i++
	}
	nd := e.Layout.Place.Header.Maps
	for v := range e.Layout.Schema.Vars {
		switch sv := &e.Layout.Schema.Vars[v]; {
		case !sv.Record || never(v):
		case sv.Decomp == 0 && e.Layout.Table.ID[i] != 0 || sv.Decomp != 0 && e.Layout.Table.Count[i*nd+int(sv.Decomp)-1] == 0:
		case !e.Tally.Done.has(i, &Pend{V: int32(v), Rec: rec}, true):
			return v
		}
	}
	return -1
}
