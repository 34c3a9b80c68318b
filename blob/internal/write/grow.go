package write

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/verdict"
	"blobio/subfile"
)

// grown is what the first rank of a subfile tells world rank 0 at a commit of files that grow in place.
type grown struct {
	Err   []byte           `json:"err,omitempty"` // as comm.EncodeError makes it; the rest is not known then
	Rank  int              `json:"rank"`          // with Err: the world rank that met it
	Whole int64            `json:"whole"`         // records below were put by all its ranks
	Steps []subfile.Growth `json:"steps"`         // of each record that is not committed yet, in order: the size that the file has with it, and its checksums
}

// growMode says what grow does about what is missing in records.
type growMode uint8

const (
	growIfWhole growMode = iota // nothing is committed if a record lacks anything
	growSettled                 // settleRecords has found that nothing is missing
	growFilled                  // it is filled
)

// growWhole commits the records that are whole, in files that grow. err is of this process's leader alone. Collective.
func (w *Writer) growWhole(ctx context.Context, err error) error {
	if w.Opt.FillIncomplete {
		_, err = w.grow(ctx, w.Known, err, growFilled)
		return err
	}
	if !w.uneven {
		short, err := w.grow(ctx, w.Known, err, growIfWhole)
		if err != nil || !short {
			return err
		}
	} else if err = comm.Agree(ctx, w.C, err); err != nil {
		w.Fail(err)
		return err
	}
	records, fill, err := w.settleRecords(ctx)
	if err != nil {
		w.Fail(err)
		return err
	}
	mode := growSettled
	if fill {
		mode = growFilled
	}
	_, err = w.grow(ctx, records, nil, mode)
	return err
}

// grow commits records, up to limit, whose data lie in files that are part of the dataset already. short: some record lacks something, and
// nothing was committed, see growIfWhole. err is of this process's leader alone.
//
// World rank 0 learns with the checksums what each subfile has, so that nothing is agreed on before: a gather among the ranks of each subfile,
// if they are several processes, one among all ranks, if there are several subfiles, and the verdict. Collective.
func (w *Writer) grow(ctx context.Context, limit int64, err error, mode growMode) (short bool, _ error) {
	if mode == growFilled {
		if err = comm.Agree(ctx, w.C, err); err == nil {
			err = w.complete(ctx, limit)
		} else {
			w.Fail(err)
		}
		if err != nil {
			return false, err
		}
	}
	all, broken := w.gatherGrowth(ctx, limit, err, mode)
	if broken != nil && w.C.Rank() != 0 { // it may have heard everybody
		broken = &dataset.InDoubtError{Base: w.Base, Err: broken}
	}
	if broken != nil {
		w.Fail(broken)
		return false, broken
	}
	records := int64(math.MaxInt64)
	var part func() error
	if w.C.Rank() == 0 {
		part = func() (err error) {
			records, err = w.commitGrowth(all, limit)
			return err
		}
	}
	outcome, v, err := verdict.CommitMin(ctx, w.C, part, func() []int64 { return []int64{records} })
	if err = w.judged(outcome, err); err != nil {
		return false, err
	}
	if records = v[0]; records < limit {
		return true, nil
	}
	w.atts = nil
	if records > w.Sealed {
		w.Sealed = records
		w.Commits++
	}
	if w.Lead {
		w.Eng.advance(records)
	}
	return false, nil
}

// gatherGrowth syncs what was written and brings to world rank 0 what each subfile has. broken is an error of the communication.
func (w *Writer) gatherGrowth(ctx context.Context, limit int64, err error, mode growMode) (all [][]byte, broken error) {
	e, first := w.Eng, w.sub.Rank() == 0
	sync := w.Opt.Durability != dataset.DurableNone
	o := sealed{rank: w.C.Rank()}
	if w.Lead {
		e.known = w.Known // reach must not cut off what other ranks have written behind
		if derr := e.drain(); err == nil {
			err = derr
		}
		if err == nil {
			if o.whole = limit; mode == growIfWhole {
				o.whole = e.wholeTo(limit, nil)
			}
			err = e.syncWritten(sync)
		}
		if o.err = err; err == nil && !first {
			o.takeSums(e)
		}
	}
	told := []*sealed{&o}
	if w.apart() && w.sub.Size() > 1 {
		list, broken := w.sub.Gather(ctx, 0, o.bytes())
		if broken != nil {
			return nil, broken
		}
		for r, b := range list {
			if r > 0 {
				p := new(sealed)
				if err := p.parse(b); err != nil && p.err == nil {
					p.rank, p.err = o.rank, fmt.Errorf("%s: checksums of sub rank %d: %w", e.Name, r, err)
				}
				told = append(told, p)
			}
		}
	}
	var mine []byte
	if first {
		g := e.growth(told, sync)
		if mine, err = json.Marshal(g); err != nil {
			mine = nil // told as a description that lacks
		}
	}
	if w.Info.Subfiles == 1 {
		return [][]byte{mine}, nil
	}
	return w.C.Gather(ctx, 0, mine)
}

// growth is what the first rank of a subfile makes of what its processes have told.
func (e *Engine) growth(told []*sealed, sync bool) *grown {
	g := &grown{Whole: math.MaxInt64}
	fail := func(rank int, err error) *grown { return &grown{Rank: rank, Err: comm.EncodeError(err)} }
	for r, o := range told {
		if o.err != nil {
			return fail(o.rank, o.err)
		}
		g.Whole = min(g.Whole, o.whole)
		if r > 0 {
			o.giveSums(e)
		}
	}
	err := e.resum(g.Whole)
	if err == nil {
		err = e.reach(g.Whole, sync)
	}
	for rec := e.From; rec < g.Whole && err == nil; rec++ {
		s := subfile.Growth{Size: e.fileSize(rec + 1)}
		s.Extents, s.Pieces, err = e.sumsOf(false, rec, rec+1)
		g.Steps = append(g.Steps, s)
	}
	if err != nil {
		return fail(told[0].rank, err)
	}
	return g
}

// commitGrowth makes the commit of what the subfiles have, on world rank 0, if that is all records below limit. It returns how many records are committed then.
func (w *Writer) commitGrowth(all [][]byte, limit int64) (int64, error) {
	list := make([]grown, 0, w.Info.Subfiles)
	records := limit
	for r, b := range all {
		if len(b) == 0 {
			continue
		}
		var g grown
		if err := json.Unmarshal(b, &g); err != nil {
			return w.Sealed, fmt.Errorf("growth of the subfile of rank %d: %w", r, err)
		}
		if g.Err != nil {
			return w.Sealed, comm.MetBy(w.C, g.Rank, comm.DecodeError(g.Err))
		}
		records = min(records, g.Whole)
		list = append(list, g)
	}
	if len(list) != w.Info.Subfiles {
		return w.Sealed, fmt.Errorf("growth of %d subfiles, want %d", len(list), w.Info.Subfiles)
	}
	if records < limit {
		return w.Sealed, nil
	}
	if records <= w.Sealed {
		if len(w.atts) == 0 && !w.heldNews() {
			return w.Sealed, nil
		}
		return w.Sealed, w.addEntry(&subfile.Entry{Records: w.Sealed, Atts: w.atts, Held: w.Held.Info()})
	}
	n := int(records - w.Sealed)
	e := &subfile.Entry{Records: records, Atts: w.atts, Held: w.Held.Info(), Subfiles: make([]subfile.Growth, len(list))}
	for k := range list {
		if len(list[k].Steps) < n {
			return w.Sealed, fmt.Errorf("growth of subfile %d: %d records, want %d", k, len(list[k].Steps), n)
		}
		f := &e.Subfiles[k]
		for _, s := range list[k].Steps[:n] {
			f.Size = s.Size
			f.Extents, f.Pieces = append(f.Extents, s.Extents...), append(f.Pieces, s.Pieces...)
		}
	}
	return records, w.addEntry(e)
}

// syncWritten makes durable what this process has written since the last time.
func (e *Engine) syncWritten(sync bool) error {
	if !e.wrote.Swap(false) || !sync {
		return nil
	}
	return e.syncs(e.syncFile())
}

// reach makes the file as long as these records need: nobody may have written the pad behind the last one.
func (e *Engine) reach(records int64, sync bool) error {
	f, done, err := e.File()
	if err != nil {
		return err
	}
	defer done()
	was, err := f.Size()
	if err != nil || was >= e.fileSize(records) {
		return err
	}
	if err := e.setSize(f, records, false); err != nil || !sync {
		return err
	}
	return e.syncs(f.Sync())
}

// finish gives the file its exact size, and makes its number of records durable.
func (e *Engine) finish(first bool, records int64, sync bool) error {
	if !first || e.Name == "" {
		return nil
	}
	f, done, err := e.File()
	if err != nil {
		return err
	}
	defer done()
	size, err := f.Size()
	if err == nil && e.behind {
		err = SetRecords(f, records-e.Base)
	}
	if err == nil && size != e.fileSize(records) {
		err = f.Truncate(e.fileSize(records))
	} else if err == nil && !e.Place.Grows {
		return nil
	}
	if err == nil && sync {
		err = f.Sync()
	}
	return err
}

// advance notes that records are committed. The first process of a variable-centric subfile tells other programs of it in the header,
// which they may read at any time; that it is durable is not waited for, since fewer are right too.
func (e *Engine) advance(records int64) {
	if records <= e.From {
		return
	}
	e.From = records
	e.Done.forget(records)
	end := e.Exts.First(records - e.First)
	e.Sums.Mu.Lock()
	for x := range e.Sums.Ext {
		if x < end {
			delete(e.Sums.Ext, x)
		}
	}
	e.Sums.Mu.Unlock()
	if e.Place.Grows && e.Table.ID[0] == 0 {
		err := e.MoveRecords(records, false)
		if e.behind = vfs.Full(err); !e.behind { // a later commit, or the end, writes it
			e.late = err
		}
	}
}
