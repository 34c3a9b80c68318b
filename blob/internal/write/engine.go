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
	"blobio/internal/subfile"
)

// Engine writes one subfile for the ranks of one process. Its leader, the
// lowest of those ranks, calls it while the others wait; so nothing here is
// called by two ranks at once.
type Engine struct {
	opt    dataset.Settings
	Proc   *Process
	Schema *dataset.Schema
	Place  *dataset.Place
	Table  *layout.Ranks // of the local ranks
	Maps   []*decomp.Map // by map from 0: requests of the local ranks, by local index
	Name   string        // the path that is written: partial or final
	Final  string
	Index  int  // subfile number
	Made   bool // this process created the file name

	mu      sync.Mutex // held while the leader reads what the ranks have lent
	stopped bool

	Base     int64 // first record of the file
	First    int64 // first record that this session, or this set of it, may write
	From     int64 // records below are committed
	known    int64 // one more than the highest that any rank has put, as far as it was agreed
	freed    int64 // bytes of copies that the last write of kept puts no longer needs
	late     error // met behind the last commit, for the next collective to tell
	behind   bool  // the header counts fewer records than are committed, for want of space
	Coarse   bool  // appended to what has no checksums of pieces
	Appended bool  // fixed variables and maps are in the file already
	Sums     *checksum.Set
	Done     *doneSet
	ever     []int64  // 1 for each record variable that ranks of this process have put in this session
	wasKept  [][]Pend // what kept was before a commit that is under way
	kept     [][]Pend // process-centric, records unknown: puts by local rank
	MapsOut  bool     // the map variables are written
	Exts     *layout.ExtentOrder
	End      int64       // bytes allocated
	meta     *h5.Layout  // process-centric: the HDF5 metadata around the data
	team     *Team       // the engines that it plans and writes with
	Pack     *packer     // if the data are compressed
	wrote    atomic.Bool // this process has written to the file
	usesMu   sync.Mutex
	uses     int // of the open file: see enter

	flights  []*flight    // under mu: flushes in the background, the last one and those that still sync
	unsynced atomic.Int64 // bytes written in the background
	syncing  atomic.Bool  // a flight does
}

func (e *Engine) init() {
	e.From = e.First
	e.Exts = e.Place.ExtentOrder()
	e.Sums = checksum.New(e.opt.Piece)
	e.Done = newDoneSet(e.Table.ID, e.Schema)
}

// alone carries out the leader's work on data that ranks have lent, unless one
// of them has given up already.
func (e *Engine) alone(f func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return fmt.Errorf("%s: another rank has failed: %w", e.Name, dataset.ErrBroken)
	}
	return f()
}

// stop waits for the leader, and ends what is in the background; when it returns nothing that is lent is used any more.
func (e *Engine) stop() {
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	e.ground()
}

// extent is the manifest's index of a variable's record (or a map variable's).
func (e *Engine) extent(p *Pend) int64 {
	return e.Exts.Index(e.Place.HeaderVar(p.V), p.Rec-e.First)
}

// RecordVar is how many record variables come before one.
func (e *Engine) RecordVar(v int) int { return e.Exts.Pos[e.Place.FileVar(dataset.VarID(v))] }

// spot says where a pending put of local rank i goes: file offset, bytes, and
// the offset of those bytes in their extent.
func (e *Engine) spot(i int, p *Pend) (off, n, at int64) {
	return e.spotOf(e.Table, i, p.V, p.Rec)
}

// spotOf is spot for entry i of any table.
func (e *Engine) spotOf(t *layout.Ranks, i int, v int32, rec int64) (off, n, at int64) {
	return e.Place.Spot(t, i, v, e.recIn(v, rec))
}

// recIn is the number that a record of a variable has in the file.
func (e *Engine) recIn(v int32, rec int64) int64 {
	if v >= 0 && e.Schema.Vars[v].Record {
		return rec - e.Base
	}
	return 0
}

// fileSize is how long the file is with the records of the dataset below that number.
func (e *Engine) fileSize(records int64) int64 { return e.Place.FileSize(records - e.Base) }

// Settle gives every blob its place, without communication: how much each rank has is known from setup.
func (e *Engine) Settle(records int64) (err error) {
	e.meta, err = e.Place.Settle(e.team.All, records)
	for i, id := range e.Table.ID {
		e.Table.Blob[i] = e.team.All.Blob[id]
	}
	return err
}

// keep holds back the puts until Close, when their places are known. copied bytes were reserved for
// them when they were put; what stays reserved is what is kept.
func (e *Engine) keep(lists [][]Pend, copied int64) error {
	kept := int64(0)
	if e.kept == nil {
		e.kept = make([][]Pend, len(lists))
	}
	for i, l := range lists {
		for _, p := range l {
			old := -1
			e.noteEver(&p)
			if e.Done.Set(i, &p, e.Schema.Vars[p.V].Record) { // put again: the one before goes
				old = slices.IndexFunc(e.kept[i], func(q Pend) bool { return q.V == p.V && q.Rec == p.Rec })
				if e.opt.Retain != dataset.LendUntilClose {
					e.Proc.release(int64(len(e.kept[i][old].Raw)))
				}
			}
			if e.opt.Retain == dataset.CopyOnPut {
				kept += int64(len(p.Raw))
			} else if e.opt.Retain == dataset.LendUntilFlush {
				if err := e.Proc.reserve(int64(len(p.Raw))); err != nil {
					return fmt.Errorf("flush of %q: %w", e.Schema.Vars[p.V].Name, err)
				}
				p.Raw = append(make([]byte, 0, len(p.Raw)), p.Raw...)
			}
			if old >= 0 {
				e.kept[i][old] = p
			} else {
				e.kept[i] = append(e.kept[i], p)
			}
		}
	}
	if kept > copied { // records that were put in parts are kept whole
		if err := e.Proc.reserve(kept - copied); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
	} else {
		e.Proc.release(copied - kept)
	}
	return nil
}

// Missing returns what was kept of the fixed variables and of records below that number, and what was never put of them, as fill values: by local rank.
func (e *Engine) Missing(records int64) [][]Pend {
	lists, stay := e.takeKept(records)
	var open []int64 // records that lack something
	for rec := e.From; rec < records && e.Exts.Recs > 0; rec++ {
		if !e.Done.complete(rec) {
			open = append(open, rec)
		}
	}
	for i := range lists {
		for v := range e.Schema.Vars {
			sv := &e.Schema.Vars[v]
			if sv.Decomp == 0 && e.Table.ID[i] != 0 || e.Appended && !sv.Record {
				continue
			}
			recs := open
			if !sv.Record {
				recs = []int64{0}
			}
			for _, rec := range recs {
				p := Pend{V: int32(v), Rec: rec, Mem: sv.Type}
				if !e.Done.has(i, &p, sv.Record) {
					lists[i] = append(lists[i], p)
				}
			}
		}
	}
	if e.opt.Keeps() { // each noted as done, once, by keep; they are written now, once
		e.Done = newDoneSet(e.Table.ID, e.Schema)
		e.kept = stay
		e.noteKept()
	}
	return lists
}

// takeKept divides what was kept: what is to be written, and what is of later records.
func (e *Engine) takeKept(records int64) (lists, stay [][]Pend) {
	lists, stay = make([][]Pend, len(e.Table.ID)), make([][]Pend, len(e.Table.ID))
	e.freed = 0
	for i, l := range e.kept {
		if !slices.ContainsFunc(l, func(p Pend) bool { return e.Schema.Vars[p.V].Record && p.Rec >= records }) {
			lists[i] = l
		} else {
			for _, p := range l {
				if e.Schema.Vars[p.V].Record && p.Rec >= records {
					stay[i] = append(stay[i], p)
				} else {
					lists[i] = append(lists[i], p)
				}
			}
		}
		if e.opt.Retain != dataset.LendUntilClose {
			for _, p := range lists[i] {
				e.freed += int64(len(p.Raw))
			}
		}
	}
	return lists, stay
}

// noteKept notes what is kept as put.
func (e *Engine) noteKept() {
	for i, l := range e.kept {
		for k := range l {
			e.Done.Set(i, &l[k], e.Schema.Vars[l[k].V].Record)
		}
	}
}

// wholeTo returns the first record, at most limit, of which the ranks of this process have not put everything but variables that nobody has
// ever put; never may be nil.
func (e *Engine) wholeTo(limit int64, never func(v int) bool) int64 {
	nd := e.Place.NumMaps()
	return e.Done.wholeTo(e.From, limit, func(rank, v int) bool {
		switch sv := &e.Schema.Vars[v]; {
		case !sv.Record || never != nil && never(v):
			return true
		case sv.Decomp != 0:
			return e.Table.Count[rank*nd+int(sv.Decomp)-1] == 0
		}
		return e.Table.ID[rank] != 0
	})
}

// Called gives the subfile its names: the final one in a set, and that under which it is written.
func (e *Engine) Called(set string, rename bool, ten *Tenure) {
	e.Final = subfile.Name(set, e.Index)
	if e.Name = e.Final; rename {
		e.Name = subfile.PartialBy(e.Final, ten.Tag())
	}
}

// inUse bounds the subfiles that the engines of the process have open for use at one instant: leaders of hundreds of subfiles may flush at once, and only files
// that nobody uses can be closed for others. One that is opened by name may open its lease, too.
var inUse = make(chan struct{}, max(vfs.Descriptors.Max()/4, 1))

// enter and leave are around a use of the subfile; several uses of one engine count as one, so they may nest. Nothing that another engine does may be
// waited for between them.
func (e *Engine) enter() {
	e.usesMu.Lock()
	defer e.usesMu.Unlock()
	if e.uses++; e.uses == 1 {
		inUse <- struct{}{}
	}
}

func (e *Engine) leave() {
	e.usesMu.Lock()
	defer e.usesMu.Unlock()
	if e.uses--; e.uses == 0 {
		<-inUse
	}
}

// File returns the open subfile; done gives it back.
func (e *Engine) File() (f vfs.File, done func(), err error) {
	e.enter()
	name := e.Name
	f, err = e.Proc.Pool.Get(name, true)
	if err != nil {
		e.leave()
		return nil, nil, err
	}
	return f, func() {
		e.Proc.Pool.Put(name)
		e.leave()
	}, nil
}
