package blob

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/layout"
	"blobio/decomp"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// engine writes one subfile for the ranks of one process. Its leader, the
// lowest of those ranks, calls it while the others wait; so nothing here is
// called by two ranks at once.
type engine struct {
	opt    settings
	proc   *process
	schema *Schema
	place  *place
	table  *layout.Ranks // of the local ranks
	maps   []*decomp.Map // by map from 0: requests of the local ranks, by local index
	name   string        // the path that is written: partial or final
	final  string
	index  int  // subfile number
	made   bool // this process created the file name

	mu      sync.Mutex // held while the leader reads what the ranks have lent
	stopped bool

	base     int64 // first record of the file
	first    int64 // first record that this session, or this set of it, may write
	from     int64 // records below are committed
	known    int64 // one more than the highest that any rank has put, as far as it was agreed
	freed    int64 // bytes of copies that the last write of kept puts no longer needs
	late     error // met behind the last commit, for the next collective to tell
	behind   bool  // the header counts fewer records than are committed, for want of space
	coarse   bool  // appended to what has no checksums of pieces
	appended bool  // fixed variables and maps are in the file already
	sums     *checksum.Set
	done     *doneSet
	ever     []int64  // 1 for each record variable that ranks of this process have put in this session
	wasKept  [][]pend // what kept was before a commit that is under way
	kept     [][]pend // process-centric, records unknown: puts by local rank
	mapsOut  bool     // the map variables are written
	exts     *layout.ExtentOrder
	end      int64       // bytes allocated
	meta     *h5.Layout  // process-centric: the HDF5 metadata around the data
	team     *team       // the engines that it plans and writes with
	pack     *packer     // if the data are compressed
	wrote    atomic.Bool // this process has written to the file

	flights  []*flight    // under mu: flushes in the background, the last one and those that still sync
	unsynced atomic.Int64 // bytes written in the background
	syncing  atomic.Bool  // a flight does
}

func (e *engine) init() {
	e.from = e.first
	e.exts = e.place.ExtentOrder()
	e.sums = checksum.New(e.opt.piece)
	e.done = newDoneSet(e.table.ID, e.schema)
}

// alone carries out the leader's work on data that ranks have lent, unless one
// of them has given up already.
func (e *engine) alone(f func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return fmt.Errorf("%s: another rank has failed: %w", e.name, ErrBroken)
	}
	return f()
}

// stop waits for the leader, and ends what is in the background; when it returns nothing that is lent is used any more.
func (e *engine) stop() {
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	e.ground()
}

// extent is the manifest's index of a variable's record (or a map variable's).
func (e *engine) extent(p *pend) int64 {
	return e.exts.Index(e.place.HeaderVar(p.v), p.rec-e.first)
}

// recordVar is how many record variables come before one.
func (e *engine) recordVar(v int) int { return e.exts.Pos[e.place.fileVar(VarID(v))] }

// spot says where a pending put of local rank i goes: file offset, bytes, and
// the offset of those bytes in their extent.
func (e *engine) spot(i int, p *pend) (off, n, at int64) {
	return e.spotOf(e.table, i, p.v, p.rec)
}

// spotOf is spot for entry i of any table.
func (e *engine) spotOf(t *layout.Ranks, i int, v int32, rec int64) (off, n, at int64) {
	return e.place.Spot(t, i, v, e.recIn(v, rec))
}

// recIn is the number that a record of a variable has in the file.
func (e *engine) recIn(v int32, rec int64) int64 {
	if v >= 0 && e.schema.vars[v].Record {
		return rec - e.base
	}
	return 0
}

// fileSize is how long the file is with the records of the dataset below that number.
func (e *engine) fileSize(records int64) int64 { return e.place.FileSize(records - e.base) }

// settle gives every blob its place, without communication: how much each rank has is known from setup.
func (e *engine) settle(records int64) (err error) {
	e.meta, err = e.place.Settle(e.team.all, records)
	for i, id := range e.table.ID {
		e.table.Blob[i] = e.team.all.Blob[id]
	}
	return err
}

// keep holds back the puts until Close, when their places are known. copied bytes were reserved for
// them when they were put; what stays reserved is what is kept.
func (e *engine) keep(lists [][]pend, copied int64) error {
	kept := int64(0)
	if e.kept == nil {
		e.kept = make([][]pend, len(lists))
	}
	for i, l := range lists {
		for _, p := range l {
			old := -1
			e.noteEver(&p)
			if e.done.set(i, &p, e.schema.vars[p.v].Record) { // put again: the one before goes
				old = slices.IndexFunc(e.kept[i], func(q pend) bool { return q.v == p.v && q.rec == p.rec })
				if e.opt.Retain != LendUntilClose {
					e.proc.release(int64(len(e.kept[i][old].raw)))
				}
			}
			if e.opt.Retain == CopyOnPut {
				kept += int64(len(p.raw))
			} else if e.opt.Retain == LendUntilFlush {
				if err := e.proc.reserve(int64(len(p.raw))); err != nil {
					return fmt.Errorf("flush of %q: %w", e.schema.vars[p.v].Name, err)
				}
				p.raw = append(make([]byte, 0, len(p.raw)), p.raw...)
			}
			if old >= 0 {
				e.kept[i][old] = p
			} else {
				e.kept[i] = append(e.kept[i], p)
			}
		}
	}
	if kept > copied { // records that were put in parts are kept whole
		if err := e.proc.reserve(kept - copied); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
	} else {
		e.proc.release(copied - kept)
	}
	return nil
}

// missing returns what was kept of the fixed variables and of records below that number, and what was never put of them, as fill values: by local rank.
func (e *engine) missing(records int64) [][]pend {
	lists, stay := e.takeKept(records)
	var open []int64 // records that lack something
	for rec := e.from; rec < records && e.exts.Recs > 0; rec++ {
		if !e.done.complete(rec) {
			open = append(open, rec)
		}
	}
	for i := range lists {
		for v := range e.schema.vars {
			sv := &e.schema.vars[v]
			if sv.Decomp == 0 && e.table.ID[i] != 0 || e.appended && !sv.Record {
				continue
			}
			recs := open
			if !sv.Record {
				recs = []int64{0}
			}
			for _, rec := range recs {
				p := pend{v: int32(v), rec: rec, mem: sv.Type}
				if !e.done.has(i, &p, sv.Record) {
					lists[i] = append(lists[i], p)
				}
			}
		}
	}
	if e.opt.keeps() { // each noted as done, once, by keep; they are written now, once
		e.done = newDoneSet(e.table.ID, e.schema)
		e.kept = stay
		e.noteKept()
	}
	return lists
}

// takeKept divides what was kept: what is to be written, and what is of later records.
func (e *engine) takeKept(records int64) (lists, stay [][]pend) {
	lists, stay = make([][]pend, len(e.table.ID)), make([][]pend, len(e.table.ID))
	e.freed = 0
	for i, l := range e.kept {
		if !slices.ContainsFunc(l, func(p pend) bool { return e.schema.vars[p.v].Record && p.rec >= records }) {
			lists[i] = l
		} else {
			for _, p := range l {
				if e.schema.vars[p.v].Record && p.rec >= records {
					stay[i] = append(stay[i], p)
				} else {
					lists[i] = append(lists[i], p)
				}
			}
		}
		if e.opt.Retain != LendUntilClose {
			for _, p := range lists[i] {
				e.freed += int64(len(p.raw))
			}
		}
	}
	return lists, stay
}

// noteKept notes what is kept as put.
func (e *engine) noteKept() {
	for i, l := range e.kept {
		for k := range l {
			e.done.set(i, &l[k], e.schema.vars[l[k].v].Record)
		}
	}
}

// wholeTo returns the first record, at most limit, of which the ranks of this process have not put everything but variables that nobody has
// ever put; never may be nil.
func (e *engine) wholeTo(limit int64, never func(v int) bool) int64 {
	nd := e.place.NumMaps()
	return e.done.wholeTo(e.from, limit, func(rank, v int) bool {
		switch sv := &e.schema.vars[v]; {
		case !sv.Record || never != nil && never(v):
			return true
		case sv.Decomp != 0:
			return e.table.Count[rank*nd+int(sv.Decomp)-1] == 0
		}
		return e.table.ID[rank] != 0
	})
}

// called gives the subfile its names: the final one in a set, and that under which it is written.
func (e *engine) called(set string, rename bool, ten *tenure) {
	e.final = subfile.Name(set, e.index)
	if e.name = e.final; rename {
		e.name = subfile.PartialBy(e.final, ten.tag())
	}
}

// file returns the open subfile; done gives it back.
func (e *engine) file() (f vfs.File, done func(), err error) {
	f, err = e.proc.pool.Get(e.name, true)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { e.proc.pool.Put(e.name) }, nil
}
