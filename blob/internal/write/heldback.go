package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/subfile"
	"context"
	"fmt"
	"math"
)

// HeldBackError is blob.HeldBackError.
type HeldBackError struct {
	Base      string
	Committed int64  // records that are committed; the first one that is held back has this number
	Put       int64  // one more than the highest record that any rank has put
	Var       string // what the record lacks: the first such variable of the lowest rank that lacks one
	Rank      int    // the rank that has not put it; -1: no rank has put it, and it is not decomposed
}

// Error implements error.
func (e *HeldBackError) Error() string { return e.Base + ": " + e.Info().String() }

// Info is the form of it in manifest and log.
func (e *HeldBackError) Info() *subfile.HeldBack {
	if e == nil {
		return nil
	}
	return &subfile.HeldBack{Record: e.Committed, Put: e.Put, Var: e.Var, Rank: e.Rank}
}

// news: what is held back is not in the files yet.
func (h *heldBack) news() bool {
	return h.Last != nil && (h.written == nil || *h.Last != *h.written)
}

// take returns, once, the error of a commit in the background that has held something back.
func (h *heldBack) take() error {
	if e := h.late; e != nil {
		h.late = nil
		return e
	}
	return nil
}

// settleRecords finds how many records can be committed, where some process lacks something: first the variables that nobody has ever put, then
// the first record that lacks another one, and then the rank that has not put it. fill: some of the records to be committed lack a variable that
// nobody has put. It sets held. Collective.
func (h *heldBack) settleRecords(ctx context.Context, known, sealed int64) (records int64, fill bool, err error) {
	e := h.job.Eng
	ever := make([]int64, e.Layout.Exts.Recs) // 1 for each that somebody has put
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
		return 0, false, fmt.Errorf("%s: record %d is not whole, but no rank lacks anything of it: %w", h.job.Base, records, dataset.ErrBroken)
	}
	if e.Layout.Schema.Vars[v].Decomp == 0 {
		rank = -1
	}
	h.Last = &HeldBackError{Base: h.job.Base, Committed: records, Put: known, Var: e.Layout.Schema.Vars[v].Name, Rank: rank}
	return records, fill && records > sealed, nil
}

// lacks returns the first variable that this rank has not put in a record, -1: none.
func (h *heldBack) lacks(rec int64, never func(v int) bool) int {
	e, i := h.job.Eng, 0
	for i < len(e.Layout.Table.ID) && e.Layout.Table.ID[i] != h.job.sub.Rank() {
		i++
	}
	nd := e.Layout.Place.NumMaps()
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
