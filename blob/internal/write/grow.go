package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/comm/remote"
	"blobio/internal/comm/verdict"
	"blobio/internal/subfile"
	"context"
	"encoding/json"
	"fmt"
	"math"
)

// grown is the message of the first rank of a subfile to world rank 0, at a commit of files that grow in place.
type grown struct {
	Err   []byte           `json:"err,omitempty"` // error as encoded by remote.Encode; the other fields are then unset
	Rank  int              `json:"rank"`          // with Err: the world rank that has failed
	Whole int64            `json:"whole"`         // all ranks of the subfile have put every record with a lower number
	Steps []subfile.Growth `json:"steps"`         // for each uncommitted record, in order: the file size including it, and its checksums
}

// growMode selects what grow does with incomplete records.
type growMode uint8

const (
	growIfWhole growMode = iota // commit nothing if a record is incomplete
	growSettled                 // settleRecords found no incomplete record
	growFilled                  // fill incomplete records
)

// growWhole commits the complete records of growing files. err is an error of this process's leader only. Collective.
func (w *Writer) growWhole(ctx context.Context, err error) error {
	if w.Job.Opt.FillIncomplete {
		_, err = w.grow(ctx, w.Commits.Known, err, growFilled)
		return err
	}
	if !w.Held.uneven {
		short, err := w.grow(ctx, w.Commits.Known, err, growIfWhole)
		if err != nil || !short {
			return err
		}
	} else if err = comm.Agree(ctx, w.Job.C, err); err != nil {
		w.State.Fail(err)
		return err
	}
	records, fill, err := w.Held.settleRecords(ctx, w.Commits.Known, w.Commits.Sealed)
	if err != nil {
		w.State.Fail(err)
		return err
	}
	mode := growSettled
	if fill {
		mode = growFilled
	}
	_, err = w.grow(ctx, records, nil, mode)
	return err
}

// grow commits records below limit whose data lie in files of the dataset. short is true if a record was incomplete and grow
// committed nothing, see growIfWhole. err is an error of this process's leader only.
//
// World rank 0 receives the state of each subfile together with its checksums, so the ranks need no agreement before. The
// messages are one gather among the ranks of each subfile (if it has several processes), one gather among all ranks (if there are
// several subfiles), and the verdict. Collective.
func (w *Writer) grow(ctx context.Context, limit int64, err error, mode growMode) (short bool, _ error) {
	if mode == growFilled {
		if err = comm.Agree(ctx, w.Job.C, err); err == nil {
			err = w.complete(ctx, limit)
		} else {
			w.State.Fail(err)
		}
		if err != nil {
			return false, err
		}
	}
	all, broken := w.Commits.gatherGrowth(ctx, limit, err, mode)
	if broken != nil && w.Job.C.Rank() != 0 { // rank 0 may have received all messages and committed
		broken = &dataset.InDoubtError{Base: w.Job.Base, Err: broken}
	}
	if broken != nil {
		w.State.Fail(broken)
		return false, broken
	}
	records := int64(math.MaxInt64)
	var part func() error
	if w.Job.C.Rank() == 0 {
		part = func() (err error) {
			records, err = w.Commits.commitGrowth(all, limit)
			return err
		}
	}
	outcome, v, err := verdict.CommitMin(ctx, w.Job.C, part, func() []int64 { return []int64{records} })
	if err = w.State.judged(outcome, err); err != nil {
		return false, err
	}
	if records = v[0]; records < limit {
		return true, nil
	}
	w.Commits.atts = nil
	if records > w.Commits.Sealed {
		w.Commits.Sealed = records
		w.Commits.Count++
	}
	if w.Job.Lead {
		w.Job.Eng.advance(records)
	}
	return false, nil
}

// gatherGrowth syncs the written data and sends the state of each subfile to world rank 0. broken is an error of the
// communication.
func (c *commits) gatherGrowth(ctx context.Context, limit int64, err error, mode growMode) (all [][]byte, broken error) {
	e, first := c.job.Eng, c.job.sub.Rank() == 0
	sync := c.job.Opt.Durability != dataset.DurableNone
	o := sealed{rank: c.job.C.Rank()}
	if c.job.Lead {
		e.Seal.known = c.Known // so that reach keeps records that other ranks have already written
		if derr := e.background.drain(); err == nil {
			err = derr
		}
		if err == nil {
			if o.whole = limit; mode == growIfWhole {
				o.whole = e.Tally.wholeTo(limit, nil)
			}
			err = e.Seal.syncWritten(sync)
		}
		if o.err = err; err == nil && !first {
			o.takeSums(e)
		}
	}
	told := []*sealed{&o}
	if c.job.apart() && c.job.sub.Size() > 1 {
		list, broken := c.job.sub.Gather(ctx, 0, o.bytes())
		if broken != nil {
			return nil, broken
		}
		for r, b := range list {
			if r > 0 {
				p := new(sealed)
				if err := p.parse(b); err != nil && p.err == nil {
					p.rank, p.err = o.rank, fmt.Errorf("%s: checksums of sub rank %d: %w", e.File.Name, r, err)
				}
				told = append(told, p)
			}
		}
	}
	var mine []byte
	if first {
		g := e.growth(told, sync)
		if mine, err = json.Marshal(g); err != nil {
			mine = nil // world rank 0 treats a missing description as an error
		}
	}
	if c.job.Subfiles == 1 {
		return [][]byte{mine}, nil
	}
	return c.job.C.Gather(ctx, 0, mine)
}

// growth computes the state of a subfile from the messages of its processes. The first rank of the subfile calls it.
func (e *Engine) growth(told []*sealed, sync bool) *grown {
	g := &grown{Whole: math.MaxInt64}
	fail := func(rank int, err error) *grown { return &grown{Rank: rank, Err: remote.Encode(err)} }
	for r, o := range told {
		if o.err != nil {
			return fail(o.rank, o.err)
		}
		g.Whole = min(g.Whole, o.whole)
		if r > 0 {
			o.giveSums(e)
		}
	}
	err := e.Sums.resum(g.Whole)
	if err == nil {
		err = e.Seal.reach(g.Whole, sync)
	}
	for rec := e.Tally.From; rec < g.Whole && err == nil; rec++ {
		s := subfile.Growth{Size: e.Layout.fileSize(rec + 1)}
		s.Extents, s.Pieces, err = e.Sums.of(false, rec, rec+1)
		g.Steps = append(g.Steps, s)
	}
	if err != nil {
		return fail(told[0].rank, err)
	}
	return g
}

// commitGrowth commits the records, if all records below limit are complete, and returns the number of committed records. Only
// world rank 0 calls it.
func (c *commits) commitGrowth(all [][]byte, limit int64) (int64, error) {
	list := make([]grown, 0, c.job.Subfiles)
	records := limit
	for r, b := range all {
		if len(b) == 0 {
			continue
		}
		var g grown
		if err := json.Unmarshal(b, &g); err != nil {
			return c.Sealed, fmt.Errorf("cannot decode the growth of the subfile of rank %d: %w", r, err)
		}
		if g.Err != nil {
			return c.Sealed, comm.MetBy(c.job.C, g.Rank, remote.Decode(g.Err))
		}
		records = min(records, g.Whole)
		list = append(list, g)
	}
	if len(list) != c.job.Subfiles {
		return c.Sealed, fmt.Errorf("ranks reported the growth of %d subfiles, want %d", len(list), c.job.Subfiles)
	}
	if records < limit {
		return c.Sealed, nil
	}
	if records <= c.Sealed {
		if len(c.atts) == 0 && !c.held.news() {
			return c.Sealed, nil
		}
		return c.Sealed, c.addEntry(&subfile.Entry{Records: c.Sealed, Atts: c.atts, Held: c.held.Last.Info()})
	}
	n := int(records - c.Sealed)
	e := &subfile.Entry{Records: records, Atts: c.atts, Held: c.held.Last.Info(), Subfiles: make([]subfile.Growth, len(list))}
	for k := range list {
		if len(list[k].Steps) < n {
			return c.Sealed, fmt.Errorf("subfile %d grew by %d records, want %d", k, len(list[k].Steps), n)
		}
		f := &e.Subfiles[k]
		for _, s := range list[k].Steps[:n] {
			f.Size = s.Size
			f.Extents, f.Pieces = append(f.Extents, s.Extents...), append(f.Pieces, s.Pieces...)
		}
	}
	return records, c.addEntry(e)
}
