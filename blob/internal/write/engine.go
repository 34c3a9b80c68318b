package write

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/decomp"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

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

// Layout knows where everything of the subfile lies, and what the file has of that already.
type Layout struct {
	Schema   *dataset.Schema
	Place    *dataset.Place
	Exts     *layout.ExtentOrder
	All      *layout.Ranks // of all ranks of the subfile
	Table    *layout.Ranks // of the local ranks
	Maps     []*decomp.Map // by map from 0: requests of the local ranks, by local index
	meta     *h5.Layout    // process-centric: the HDF5 metadata around the data
	Base     int64         // first record of the file
	First    int64         // first record that this session, or this set of it, may write
	Appended bool          // fixed variables and maps are in the file already
	MapsOut  bool          // the map variables are written
}

// begin lays out a file of this shape that has nothing yet.
func (l *Layout) begin(o *dataset.Settings, sh *layout.Shape) error {
	hdr := l.Schema.BlobHeader(sh)
	if err := hdr.Layout(nil); err != nil {
		return err
	}
	l.Place = dataset.NewPlace(o.Layout, o.Compress.On(), 0)
	l.Place.SetHeader(hdr, hdr.EncodedLen(), l.Schema, sh)
	l.Exts = l.Place.ExtentOrder()
	return nil
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

// alone carries out the leader's work on data that ranks have lent, unless one
// of them has given up already.
func (b *background) alone(f func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return fmt.Errorf("%s: another rank has failed: %w", b.file.Name, dataset.ErrBroken)
	}
	return f()
}

// stop waits for the leader, and ends what is in the background; when it returns nothing that is lent is used any more.
func (b *background) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.ground()
}

// extent is the manifest's index of a variable's record (or a map variable's).
func (l *Layout) extent(p *Pend) int64 {
	return l.Exts.Index(l.Place.HeaderVar(p.V), p.Rec-l.First)
}

// RecordVar is how many record variables come before one.
func (l *Layout) RecordVar(v int) int { return l.Exts.Pos[l.Place.FileVar(dataset.VarID(v))] }

// spot says where a pending put of local rank i goes: file offset, bytes, and
// the offset of those bytes in their extent.
func (l *Layout) spot(i int, p *Pend) (off, n, at int64) {
	return l.spotOf(l.Table, i, p.V, p.Rec)
}

// spotOf is spot for entry i of any table.
func (l *Layout) spotOf(t *layout.Ranks, i int, v int32, rec int64) (off, n, at int64) {
	return l.Place.Spot(t, i, v, l.recIn(v, rec))
}

// recIn is the number that a record of a variable has in the file.
func (l *Layout) recIn(v int32, rec int64) int64 {
	if v >= 0 && l.Schema.Vars[v].Record {
		return rec - l.Base
	}
	return 0
}

// fileSize is how long the file is with the records of the dataset below that number.
func (l *Layout) fileSize(records int64) int64 { return l.Place.FileSize(records - l.Base) }

// Settle gives every blob its place, without communication: how much each rank has is known from setup.
func (l *Layout) Settle(records int64) (err error) {
	l.meta, err = l.Place.Settle(l.All, records)
	for i, id := range l.Table.ID {
		l.Table.Blob[i] = l.All.Blob[id]
	}
	return err
}

// keep holds back the puts until Close, when their places are known. copied bytes were reserved for
// them when they were put; what stays reserved is what is kept.
func (s *keptPuts) add(lists [][]Pend, copied int64) error {
	kept := int64(0)
	if s.lists == nil {
		s.lists = make([][]Pend, len(lists))
	}
	for i, l := range lists {
		for _, p := range l {
			old := -1
			s.tally.noteEver(&p)
			if s.tally.Done.Set(i, &p, s.lay.Schema.Vars[p.V].Record) { // put again: the one before goes
				old = slices.IndexFunc(s.lists[i], func(q Pend) bool { return q.V == p.V && q.Rec == p.Rec })
				if s.opt.Retain != dataset.LendUntilClose {
					s.proc.release(int64(len(s.lists[i][old].Raw)))
				}
			}
			if s.opt.Retain == dataset.CopyOnPut {
				kept += int64(len(p.Raw))
			} else if s.opt.Retain == dataset.LendUntilFlush {
				if err := s.proc.reserve(int64(len(p.Raw))); err != nil {
					return fmt.Errorf("flush of %q: %w", s.lay.Schema.Vars[p.V].Name, err)
				}
				p.Raw = append(make([]byte, 0, len(p.Raw)), p.Raw...)
			}
			if old >= 0 {
				s.lists[i][old] = p
			} else {
				s.lists[i] = append(s.lists[i], p)
			}
		}
	}
	if kept > copied { // records that were put in parts are kept whole
		if err := s.proc.reserve(kept - copied); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
	} else {
		s.proc.release(copied - kept)
	}
	return nil
}

// Missing returns what was kept of the fixed variables and of records below that number, and what was never put of them, as fill values: by local rank.
func (s *keptPuts) Missing(records int64) [][]Pend {
	lists, stay := s.take(records)
	var open []int64 // records that lack something
	for rec := s.tally.From; rec < records && s.lay.Exts.Recs > 0; rec++ {
		if !s.tally.Done.complete(rec) {
			open = append(open, rec)
		}
	}
	for i := range lists {
		for v := range s.lay.Schema.Vars {
			sv := &s.lay.Schema.Vars[v]
			if sv.Decomp == 0 && s.lay.Table.ID[i] != 0 || s.lay.Appended && !sv.Record {
				continue
			}
			recs := open
			if !sv.Record {
				recs = []int64{0}
			}
			for _, rec := range recs {
				p := Pend{V: int32(v), Rec: rec, Mem: sv.Type}
				if !s.tally.Done.has(i, &p, sv.Record) {
					lists[i] = append(lists[i], p)
				}
			}
		}
	}
	if s.opt.Keeps() { // each noted as done, once, by keep; they are written now, once
		s.tally.Done = newDoneSet(s.lay.Table.ID, s.lay.Schema)
		s.lists = stay
		s.note()
	}
	return lists
}

// takeKept divides what was kept: what is to be written, and what is of later records.
func (s *keptPuts) take(records int64) (lists, stay [][]Pend) {
	lists, stay = make([][]Pend, len(s.lay.Table.ID)), make([][]Pend, len(s.lay.Table.ID))
	s.freed = 0
	for i, l := range s.lists {
		if !slices.ContainsFunc(l, func(p Pend) bool { return s.lay.Schema.Vars[p.V].Record && p.Rec >= records }) {
			lists[i] = l
		} else {
			for _, p := range l {
				if s.lay.Schema.Vars[p.V].Record && p.Rec >= records {
					stay[i] = append(stay[i], p)
				} else {
					lists[i] = append(lists[i], p)
				}
			}
		}
		if s.opt.Retain != dataset.LendUntilClose {
			for _, p := range lists[i] {
				s.freed += int64(len(p.Raw))
			}
		}
	}
	return lists, stay
}

// noteKept notes what is kept as put.
func (s *keptPuts) note() {
	for i, l := range s.lists {
		for k := range l {
			s.tally.Done.Set(i, &l[k], s.lay.Schema.Vars[l[k].V].Record)
		}
	}
}

// wholeTo returns the first record, at most limit, of which the ranks of this process have not put everything but variables that nobody has
// ever put; never may be nil.
func (t *tally) wholeTo(limit int64, never func(v int) bool) int64 {
	nd := t.lay.Place.NumMaps()
	return t.Done.wholeTo(t.From, limit, func(rank, v int) bool {
		switch sv := &t.lay.Schema.Vars[v]; {
		case !sv.Record || never != nil && never(v):
			return true
		case sv.Decomp != 0:
			return t.lay.Table.Count[rank*nd+int(sv.Decomp)-1] == 0
		}
		return t.lay.Table.ID[rank] != 0
	})
}

// Called gives the subfile its names: the final one in a set, and that under which it is written.
func (o *outFile) Called(set string, rename bool, ten *Tenure) {
	o.Final = subfile.Name(set, o.Index)
	if o.Name = o.Final; rename {
		o.Name = subfile.PartialBy(o.Final, ten.Tag())
	}
}

// inUse bounds the subfiles that the engines of the process have open for use at one instant: leaders of hundreds of subfiles may flush at once, and only files
// that nobody uses can be closed for others. One that is opened by name may open its lease, too.
var inUse = make(chan struct{}, max(vfs.Descriptors.Max()/4, 1))

// enter and leave are around a use of the subfile; several uses of one engine count as one, so they may nest. Nothing that another engine does may be
// waited for between them.
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

// File returns the open subfile; done gives it back.
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

// outFile is the subfile as it is opened and written.
type outFile struct {
	proc  *Process
	Name  string // the path that is written: partial or final
	Final string
	Index int         // subfile number
	Made  bool        // this process created the file name
	End   int64       // bytes allocated
	wrote atomic.Bool // this process has written to the file

	mu   sync.Mutex
	uses int // of the open file: see enter
}

// tally notes which puts the file has, or will have.
type tally struct {
	lay  *Layout
	From int64 // records below are committed
	Done *doneSet
	ever []int64 // 1 for each record variable that ranks of this process have put in this session
}

func (t *tally) start() {
	t.From, t.Done = t.lay.First, newDoneSet(t.lay.Table.ID, t.lay.Schema)
}

// keptPuts are puts that wait for the commit that writes them: process-centric, while the number of records is not known.
type keptPuts struct {
	lay    *Layout
	tally  *tally
	proc   *Process
	opt    *dataset.Settings
	lists  [][]Pend // by local rank
	before [][]Pend // the lists before a commit that is under way
	freed  int64    // bytes of copies that the last write of kept puts no longer needs
}

// renumber gives the puts the numbers of their variables in another schema.
func (s *keptPuts) renumber(was []int32) {
	for _, l := range s.lists {
		for k := range l {
			l[k].V = was[l[k].V]
		}
	}
}

// sums are the checksums of the subfile.
type sums struct {
	lay    *Layout
	file   *outFile
	tally  *tally
	Set    *checksum.Set
	Coarse bool // appended to what has no checksums of pieces
}

// sealer gives the subfile its size, header and metadata, and makes it durable.
type sealer struct {
	lay    *Layout
	file   *outFile
	team   *Team
	pack   *packer
	known  int64 // one more than the highest that any rank has put, as far as it was agreed
	behind bool  // the header counts fewer records than are committed, for want of space
	late   error // met behind the last commit, for the next collective to report
}

// background is what runs beside the ranks: at most one flush, and syncs.
type background struct {
	file *outFile
	proc *Process
	opt  *dataset.Settings

	mu      sync.Mutex // held while the leader reads what the ranks have lent
	stopped bool
	flights []*flight // under mu: the last one and those that still sync

	unsynced atomic.Int64 // bytes written in the background
	syncing  atomic.Bool  // a flight does
}
