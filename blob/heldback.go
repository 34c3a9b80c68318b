package blob

import (
	"context"
	"fmt"
	"math"

	"blobio/comm"
	"blobio/subfile"
)

// A HeldBackError is what Commit returns when it has held back records that ranks have put, because the first of them lacks something. The records
// before it are committed, and the writer goes on. All ranks get the same error.
type HeldBackError struct {
	Base      string
	Committed int64  // records that are committed; the first one that is held back has this number
	Put       int64  // one more than the highest record that any rank has put
	Var       string // what the record lacks: the first such variable of the lowest rank that lacks one
	Rank      int    // the rank that has not put it; -1: no rank has put it, and it is not decomposed
}

// Error implements error.
func (e *HeldBackError) Error() string { return e.Base + ": " + e.info().String() }

// info is the form of it in manifest and log.
func (e *HeldBackError) info() *subfile.HeldBack {
	if e == nil {
		return nil
	}
	return &subfile.HeldBack{Record: e.Committed, Put: e.Put, Var: e.Var, Rank: e.Rank}
}

// heldNews: what is held back is not in the files yet.
func (w *Writer) heldNews() bool {
	return w.held != nil && (w.heldWritten == nil || *w.held != *w.heldWritten)
}

// takeHeld returns, once, the error of a commit in the background that has held something back.
func (w *Writer) takeHeld() error {
	if e := w.heldLate; e != nil {
		w.heldLate = nil
		return e
	}
	return nil
}

// noteEver remembers that a variable was put; what is filled was not.
func (e *engine) noteEver(p *pend) {
	if p.v < 0 || len(p.raw) == 0 || !e.schema.vars[p.v].Record {
		return
	}
	if e.ever == nil {
		e.ever = make([]int64, e.exts.Recs)
	}
	e.ever[e.recordVar(int(p.v))] = 1
}

// settleRecords finds how many records can be committed, where some process lacks something: first the variables that nobody has ever put, then
// the first record that lacks another one, and then the rank that has not put it. fill: some of the records to be committed lack a variable that
// nobody has put. It sets held. Collective.
func (w *Writer) settleRecords(ctx context.Context) (records int64, fill bool, err error) {
	e := w.eng
	ever := make([]int64, e.exts.Recs) // 1 for each that somebody has put
	if w.lead {
		copy(ever, e.ever)
	}
	if w.everPut != nil {
		w.before, w.everPut = w.everPut(ctx), nil
	}
	for k, put := range w.before {
		ever[k] |= put
	}
	if ever, err = w.c.AllreduceInt64(ctx, ever, comm.Max); err != nil {
		return 0, false, err
	}
	never := func(v int) bool {
		sv := &e.schema.vars[v]
		return sv.Record && ever[e.recordVar(v)] == 0
	}
	records = w.known
	if w.lead {
		records = e.wholeTo(records, never)
	}
	first, err := w.c.AllreduceInt64(ctx, []int64{records}, comm.Min)
	if err != nil {
		return 0, false, err
	}
	records = first[0]
	for v := range e.schema.vars {
		fill = fill || never(v)
	}
	if w.uneven = fill || records < w.known; records == w.known {
		return records, fill && records > w.sealed, nil
	}
	who := []int64{math.MaxInt64}
	if v := w.lacks(records, never); v >= 0 {
		who[0] = int64(w.c.Rank())<<32 | int64(v)
	}
	if who, err = w.c.AllreduceInt64(ctx, who, comm.Min); err != nil {
		return 0, false, err
	}
	v, rank := int(who[0]&math.MaxUint32), int(who[0]>>32)
	if who[0] == math.MaxInt64 {
		return 0, false, fmt.Errorf("%s: record %d is not whole, but no rank lacks anything of it: %w", w.base, records, ErrBroken)
	}
	if e.schema.vars[v].Decomp == 0 {
		rank = -1
	}
	w.held = &HeldBackError{Base: w.base, Committed: records, Put: w.known, Var: e.schema.vars[v].Name, Rank: rank}
	return records, fill && records > w.sealed, nil
}

// lacks returns the first variable that this rank has not put in a record, -1: none.
func (w *Writer) lacks(rec int64, never func(v int) bool) int {
	e, i := w.eng, 0
	for i < len(e.table.ID) && e.table.ID[i] != w.sub.Rank() {
		i++
	}
	nd := e.place.NumMaps()
	for v := range e.schema.vars {
		switch sv := &e.schema.vars[v]; {
		case !sv.Record || never(v):
		case sv.Decomp == 0 && e.table.ID[i] != 0 || sv.Decomp != 0 && e.table.Count[i*nd+int(sv.Decomp)-1] == 0:
		case !e.done.has(i, &pend{v: int32(v), rec: rec}, true):
			return v
		}
	}
	return -1
}
