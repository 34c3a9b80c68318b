package pio

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"blobio/comm"
)

// failure identifies a write that failed on some ranks: the variable, the record and the number of the call.
type failure struct{ v, rec, call int64 }

// agreement keeps the calls of the ranks on one file together.
type agreement struct {
	c      comm.Comm
	missed int64 // calls of WriteDarray that failed on this rank before the write was in the log; other ranks may have it in theirs
	first  error // the first error of these calls since the ranks last agreed
	broken error // the error that lost data, on all ranks; all calls return it
}

// miss notes a failed call of WriteDarray.
func (a *agreement) miss(err error) {
	a.missed++
	a.first = cmp.Or(a.first, err)
}

// agree is agreeMin for the first communication of a call. All calls begin with messages of one form, because a rank that has
// missed a write may be in a different call than the others. Then the ranks' logs differ, and the file is broken. Collective.
func (a *agreement) agree(ctx context.Context, err error, v ...int64) ([]int64, error) {
	var all [9]int64
	n := copy(all[2:], v)
	all[0], all[1] = a.missed, ^a.missed
	got, err := agreeMin(ctx, a.c, err, all[:]...)
	if got == nil {
		return nil, err
	}
	if got[0] != ^got[1] {
		a.broken = agree(ctx, a.c, a.first)
		return nil, a.broken
	}
	a.first = nil
	return got[2 : 2+n], err
}

// agreeBut agrees on err, which ends a call, and then on soft, which does not. It returns the agreed soft and the agreed err.
// Collective.
func (a *agreement) agreeBut(ctx context.Context, err, soft error) (agreedSoft, agreed error) {
	none := int64(0)
	if soft != nil {
		none = -1
	}
	got, err := a.agree(ctx, err, none)
	if err != nil || got[0] == 0 {
		return nil, err
	}
	return agree(ctx, a.c, soft), nil
}

// failures returns this rank's failed writes in order, and the error of the first one.
func (l *log) failures(vars []*variable) (list []failure, err error) {
	if !l.fails {
		return nil, nil
	}
	for i, v := range vars {
		for _, rec := range l.records(v) {
			for _, w := range l.of[v][rec] {
				if w.failed == nil {
					continue
				}
				if err == nil {
					err = w.failed
				}
				list = append(list, failure{int64(i), rec, w.call})
			}
		}
	}
	return list, err
}

// sortOut removes failed writes from the log, so that all ranks have the same writes. A write that failed on all ranks is already
// known to all of them. A write that failed on some ranks is now an error on all. The other ranks have dropped the writes that it
// replaced, so this rank drops them too. dirty means that some rank has something to commit. same means that all ranks have the
// same definitions and writes; if it is false, they may differ. Collective.
func (tx *transaction) sortOut(ctx context.Context) (dirty, same bool, err error) {
	list, err := tx.log.failures(tx.defs.vars)
	clean, sum := int64(1), int64(0)
	if tx.dirty() {
		clean = 0
		if err == nil {
			sum = digest(tx.defs, &tx.log)
		}
	}
	got, err := tx.ranks.agree(ctx, err, clean, sum, ^sum)
	if dirty = got != nil && got[0] == 0; err == nil || got == nil {
		return dirty, dirty && got[1] == ^got[2], err
	}
	var mine []byte
	for _, x := range list {
		for _, n := range []int64{x.v, x.rec, x.call} {
			mine = binary.LittleEndian.AppendUint64(mine, uint64(n))
		}
	}
	all, gerr := tx.s.c.Allgather(ctx, mine)
	if gerr != nil {
		return false, false, gerr
	}
	ranks := map[failure]int{}
	for _, b := range all {
		for ; len(b) >= 24; b = b[24:] {
			n := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
			ranks[failure{n(0), n(1), n(2)}]++
		}
	}
	known := true
	for _, x := range slices.SortedFunc(maps.Keys(ranks), func(a, b failure) int { return int(a.call - b.call) }) {
		everywhere := ranks[x] == tx.s.c.Size()
		known = known && everywhere
		if x.v >= int64(len(tx.defs.vars)) { // another rank has more definitions; same reports them
			continue
		}
		v := tx.defs.vars[x.v]
		var bad *write
		for _, w := range tx.log.of[v][x.rec] {
			if w.call == x.call {
				bad = w
			}
		}
		if bad == nil { // already replaced
			continue
		}
		tx.log.drop(v, x.rec, func(w *write) bool {
			return w == bad || !everywhere && bad.whole() && w.call < bad.call && w.off >= bad.off && w.off+w.n <= bad.off+bad.n
		})
	}
	tx.recount()
	if known {
		err = nil
	}
	tx.log.fails = false
	return dirty, false, err
}

// recount recomputes the number of records.
func (tx *transaction) recount() {
	tx.defs.records = 0
	if tx.base != nil {
		tx.defs.records = tx.base.records
	}
	if tx.w != nil {
		tx.defs.records = max(tx.defs.records, tx.w.next.records)
	}
	for v, recs := range tx.log.of {
		for rec := range recs {
			if tx.defs.isRecord(v) {
				tx.defs.records = max(tx.defs.records, rec+1)
			}
		}
	}
}
