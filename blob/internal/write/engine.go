package write

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/lease"
	"blobio/blob/internal/process"
	"blobio/decomp"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// Renew prepares the engine for another file, in a set that begins with record first. Kept puts stay. was maps each old variable
// number to the new one; if it is nil, the numbers stay.
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

// undo prepares the engine to repeat the writes of a failed collective. further means that the file belonged to a set after the
// first one.
func (e *Engine) undo(further bool) error {
	if !e.opt.Keeps() {
		if !further && !e.Layout.Appended { // the maps are written again too
			e.Layout.MapsOut = false
			for x := range int64(e.Layout.Place.Header.Maps * layout.MapVars) {
				e.Sums.Set.Forget(x)
			}
		}
		return nil
	}
	if e.Kept.before != nil {
		e.Kept.lists, e.Kept.before = e.Kept.before, nil
		e.Proc.Retake(e.Kept.freed)
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
	case first && !further: // truncation frees the space but keeps the name
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
	if e.Seal.late = nil; !further { // everything will be written again
		e.File.Name, e.File.Final, e.File.Made, e.Layout.Base = name, final, made, base
	}
	return err
}

// Engine writes one subfile for the ranks of one process. Only the leader, the lowest of these ranks, calls it, while the other
// ranks wait. No two ranks use it at once.
type Engine struct {
	opt        *dataset.Settings
	Proc       *process.Process
	team       *Team // the engines that plan and write the same subfile
	Layout     *Layout
	File       *outFile
	Tally      *tally
	Kept       *keptPuts
	Sums       *sums
	Pack       *packer // nil unless the data are compressed
	Seal       *sealer
	background *background
}

// newEngine makes the parts of an engine for an empty file.
func newEngine(o *dataset.Settings, proc *process.Process, t *Team, l *Layout) *Engine {
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

// StartAt sets the first record of the file; earlier records are committed.
func (e *Engine) StartAt(first int64) {
	e.Layout.Base, e.Layout.First, e.Tally.From = first, first, first
}

// start prepares the parts for an empty file.
func (e *Engine) start() {
	e.Sums.Set = checksum.New(e.opt.Piece)
	e.Tally.start()
	e.Pack = newPacker(e.opt, e.Proc, e.Layout)
	e.Seal.pack = e.Pack
}

// note records in the tally the puts that are about to be written.
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

// advance notes that records records are committed. The first process of a variable-centric subfile writes this number into the
// header, where other programs may read it at any time. It does not wait for a sync, because a smaller number in the header is
// also correct.
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
		if e.Seal.behind = vfs.Full(err); !e.Seal.behind { // a later commit or Close writes the number
			e.Seal.late = err
		}
	}
}

// NewEngine makes the engine of some ranks of a subfile, in ascending order.
func NewEngine(o *dataset.Settings, proc *process.Process, s *dataset.Schema, sh *layout.Shape, t *Team, rows []*RankRow) (*Engine, error) {
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

func (o *outFile) sync() error {
	f, done, err := o.Open()
	if err != nil {
		return err
	}
	defer done()
	return f.Sync()
}

// Called sets the names of the subfile: its final name in a set, and the name under which it is written.
func (o *outFile) Called(set string, rename bool, ten *lease.Tenure) {
	o.Final = subfile.Name(set, o.Index)
	if o.Name = o.Final; rename {
		o.Name = subfile.PartialBy(o.Final, ten.Tag())
	}
}

// inUse limits how many subfiles the engines of the process use at once. Hundreds of leaders may flush at the same time, and
// each needs descriptors, which only closing unused files can free. Opening a file by name may also open its lease.
var inUse = make(chan struct{}, max(vfs.Descriptors.Max()/4, 1))

// enter and leave surround each use of the subfile. Nested uses by one engine count once. An engine must not wait for another
// engine between enter and leave.
func (o *outFile) enter() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.uses++; o.uses == 1 {
		inUse <- struct{}{}
	}
}

func (o *outFile) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.uses--; o.uses == 0 {
		<-inUse
	}
}

// Open returns the open subfile; done returns it to the pool.
func (o *outFile) Open() (f vfs.File, done func(), err error) {
	o.enter()
	name := o.Name
	f, err = o.proc.Pool.Get(name, true)
	if err != nil {
		o.leave()
		return nil, nil, err
	}
	return f, func() {
		o.proc.Pool.Put(name)
		o.leave()
	}, nil
}

// outFile is a subfile that the engine opens and writes.
type outFile struct {
	proc  *process.Process
	Name  string // path that is written, partial or final
	Final string
	Index int         // subfile number
	Made  bool        // this process created the file Name
	End   int64       // allocated bytes
	wrote atomic.Bool // this process has written to the file

	mu   sync.Mutex
	uses int // number of nested uses, see enter
}

// named returns an error if the subfile's name is gone or belongs to another file. Readers would not find the subfile after the
// commit.
func (o *outFile) named(f vfs.File) error {
	is, err := vfs.Named(o.proc.Pool.FS(), f, o.Name)
	if err == nil && !is {
		err = fault.At(o.Name, -1, "subfile", dataset.ErrMissing, "the subfile was renamed, removed or replaced while its writer was active")
	}
	return err
}
