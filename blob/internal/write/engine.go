package write

import (
	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/decomp"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"errors"
	"fmt"
)

// Renew makes the engine one of another file, of a set that begins with that record. Kept puts stay. was has the new number of each variable, nil: the
// same.
func (e *Engine) Renew(s *dataset.Schema, was []int32, first int64) error {
	if was != nil {
		e.Kept.renumber(was)
	}
	l, f, sh := e.Layout, e.File, *e.Layout.Place.Shape
	l.Schema, l.Base, l.First, l.MapsOut, l.meta = s, first, first, false, nil
	if err := l.begin(e.opt, &sh); err != nil {
		return err
	}
	f.Name, f.Final, f.Made, f.End = "", "", false, 0
	f.wrote.Store(false)
	e.background.unsynced.Store(0)
	e.start()
	e.Kept.note()
	return nil
}

// undo makes the engine ready to write anew what a collective has not brought to its end. further: its file would have been of a set after the first.
func (e *Engine) undo(further bool) error {
	if !e.opt.Keeps() {
		if !further && !e.Layout.Appended { // the maps are written anew, too
			e.Layout.MapsOut = false
			for x := range int64(e.Layout.Place.NumMaps() * layout.MapVars) {
				e.Sums.Set.Forget(x)
			}
		}
		return nil
	}
	if e.Kept.before != nil {
		e.Kept.lists, e.Kept.before = e.Kept.before, nil
		e.Proc.retake(e.Kept.freed)
		e.Kept.freed = 0
	}
	if e.File.Name == "" {
		return nil
	}
	err := e.Proc.Pool.CloseFile(e.File.Name)
	name, final, made, base, first := e.File.Name, e.File.Final, e.File.Made, e.Layout.Base, e.Layout.Table.ID[0] == 0
	switch {
	case further && made:
		err = errors.Join(err, durable.Remove(e.opt.Fs, name))
	case first && !further: // it is empty again, which is where space comes from
		f, done, oerr := e.File.Open()
		if oerr == nil {
			oerr = f.Truncate(0)
			done()
		}
		err = errors.Join(err, oerr, e.Proc.Pool.CloseFile(name))
	}
	if rerr := e.Renew(e.Layout.Schema, nil, e.Layout.First); rerr != nil {
		return errors.Join(err, rerr)
	}
	if e.Seal.late = nil; !further { // everything is written anew
		e.File.Name, e.File.Final, e.File.Made, e.Layout.Base = name, final, made, base
	}
	return err
}

// Engine writes one subfile for the ranks of one process. Its leader, the
// lowest of those ranks, calls it while the others wait; so nothing here is
// called by two ranks at once.
type Engine struct {
	opt        *dataset.Settings
	Proc       *Process
	team       *Team // the engines that it plans and writes with
	Layout     *Layout
	File       *outFile
	Tally      *tally
	Kept       *keptPuts
	Sums       *sums
	Pack       *packer // if the data are compressed
	Seal       *sealer
	background *background
}

// newEngine makes the parts of an engine for a file that has nothing yet.
func newEngine(o *dataset.Settings, proc *Process, t *Team, l *Layout) *Engine {
	f := &outFile{proc: proc}
	y := &tally{lay: l}
	e := &Engine{opt: o, Proc: proc, team: t, Layout: l, File: f, Tally: y,
		Kept:       &keptPuts{lay: l, tally: y, proc: proc, opt: o},
		Sums:       &sums{lay: l, file: f, tally: y},
		Seal:       &sealer{lay: l, file: f, team: t},
		background: &background{file: f, proc: proc, opt: o},
	}
	e.start()
	return e
}

// StartAt says that the file begins with that record, and that those below are committed.
func (e *Engine) StartAt(first int64) {
	e.Layout.Base, e.Layout.First, e.Tally.From = first, first, first
}

// start makes the parts ready for a file that has nothing yet.
func (e *Engine) start() {
	e.Sums.Set = checksum.New(e.opt.Piece)
	e.Tally.start()
	e.Pack = newPacker(e.opt, e.Proc, e.Layout)
	e.Seal.pack = e.Pack
}

// note remembers what is about to be written.
func (e *Engine) note(lists [][]Pend) {
	for i, l := range lists {
		for k := range l {
			e.Tally.noteEver(&l[k])
			if e.Tally.Done.Set(i, &l[k], e.Layout.Schema.Vars[l[k].V].Record) && e.Pack == nil {
				e.Sums.Set.Again(e.Layout.extent(&l[k]))
			}
		}
	}
}

// advance notes that records are committed. The first process of a variable-centric subfile puts their number into the header for other programs,
// which may read it at any time; that it is durable is not waited for, since fewer are right too.
func (e *Engine) advance(records int64) {
	if records <= e.Tally.From {
		return
	}
	e.Tally.From = records
	e.Tally.Done.forget(records)
	end := e.Layout.Exts.First(records - e.Layout.First)
	e.Sums.Set.Mu.Lock()
	for x := range e.Sums.Set.Ext {
		if x < end {
			delete(e.Sums.Set.Ext, x)
		}
	}
	e.Sums.Set.Mu.Unlock()
	if e.Layout.Place.Grows && e.Layout.Table.ID[0] == 0 {
		err := e.Seal.MoveRecords(records, false)
		if e.Seal.behind = vfs.Full(err); !e.Seal.behind { // a later commit, or the end, writes it
			e.Seal.late = err
		}
	}
}

// NewEngine makes the engine of some ranks of a subfile, ascending.
func NewEngine(o *dataset.Settings, proc *Process, s *dataset.Schema, sh *layout.Shape, t *Team, rows []*RankRow) (*Engine, error) {
	nd := len(s.Decomps)
	opt, l := *o, &Layout{Schema: s, All: t.All, Table: t.All}
	if len(rows) < len(t.All.ID) {
		l.Table = layout.NewRanks(len(rows), nd)
		for i, r := range rows {
			l.Table.ID[i] = r.Sub
			from, to := r.Sub*nd, (r.Sub+1)*nd
			copy(l.Table.Count[i*nd:], t.All.Count[from:to])
			copy(l.Table.Nreqs[i*nd:], t.All.Nreqs[from:to])
			copy(l.Table.Start[i*nd:], t.All.Start[from:to])
			copy(l.Table.Reqs[i*nd:], t.All.Reqs[from:to])
		}
	}
	for d := range nd {
		b := decomp.NewBuilder(s.DecompDims(dataset.DecompID(d+1)), len(rows))
		for i, r := range rows {
			if err := b.Set(i, r.Runs[d]); err != nil {
				return nil, fmt.Errorf("decomposition D%d of sub rank %d: %w", d+1, r.Sub, err)
			}
		}
		m, err := b.Map()
		if err != nil {
			return nil, fmt.Errorf("decomposition D%d: %w", d+1, err)
		}
		l.Maps = append(l.Maps, m)
	}
	if o.Compress.On() {
		sh.Chunk = o.Chunk
	}
	if err := l.begin(o, sh); err != nil {
		return nil, err
	}
	return newEngine(&opt, proc, t, l), nil
}
