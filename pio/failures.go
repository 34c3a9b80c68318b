package pio

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"
)

// failure identifies a write that failed on some ranks: the variable, the record and the number of the call.
type failure struct{ v, rec, call int64 }

// missed describes the calls of WriteDarray that failed on this rank before the write was in the log. Other ranks may have it in
// theirs.
type missed struct {
	calls int64
	err   error // the first since the ranks last agreed
}

// miss notes a failed call of WriteDarray.
func (f *File) miss(err error) error {
	if f.write {
		f.missed.calls++
		f.missed.err = cmp.Or(f.missed.err, err)
	}
	return err
}

// agree is agreeMin for the first communication of a call. All calls begin with messages of one form, because a rank that has
// missed a write may be in a different call than the others. Then the ranks' logs differ, and the file is broken. Collective.
func (f *File) agree(ctx context.Context, err error, v ...int64) ([]int64, error) {
	var all [8]int64
	n := copy(all[2:], v)
	all[0], all[1] = f.missed.calls, ^f.missed.calls
	got, err := agreeMin(ctx, f.s.c, err, all[:]...)
	if got == nil {
		return nil, err
	}
	if got[0] != ^got[1] {
		f.broken = agree(ctx, f.s.c, f.missed.err)
		return nil, f.broken
	}
	f.missed.err = nil
	return got[2 : 2+n], err
}

// agreeBut agrees on err, which ends a call, and then on soft, which does not. It returns the agreed soft and the agreed err.
// Collective.
func (f *File) agreeBut(ctx context.Context, err, soft error) (agreedSoft, agreed error) {
	none := int64(0)
	if soft != nil {
		none = -1
	}
	got, err := f.agree(ctx, err, none)
	if err != nil || got[0] == 0 {
		return nil, err
	}
	return agree(ctx, f.s.c, soft), nil
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
func (f *File) sortOut(ctx context.Context) (dirty, same bool, err error) {
	list, err := f.log.failures(f.vars)
	clean, sum := int64(1), int64(0)
	if f.dirty() {
		clean = 0
		if err == nil {
			sum = digest(&f.definitions, &f.log)
		}
	}
	got, err := f.agree(ctx, err, clean, sum, ^sum)
	if dirty = got != nil && got[0] == 0; err == nil || got == nil {
		return dirty, dirty && got != nil && got[1] == ^got[2], err
	}
	var mine []byte
	for _, x := range list {
		for _, n := range []int64{x.v, x.rec, x.call} {
			mine = binary.LittleEndian.AppendUint64(mine, uint64(n))
		}
	}
	all, gerr := f.s.c.Allgather(ctx, mine)
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
		everywhere := ranks[x] == f.s.c.Size()
		known = known && everywhere
		if x.v >= int64(len(f.vars)) { // another rank has more definitions; same reports them
			continue
		}
		v := f.vars[x.v]
		var bad *write
		for _, w := range f.log.of[v][x.rec] {
			if w.call == x.call {
				bad = w
			}
		}
		if bad == nil { // already replaced
			continue
		}
		f.log.drop(v, x.rec, func(w *write) bool {
			return w == bad || !everywhere && bad.whole() && w.call < bad.call && w.off >= bad.off && w.off+w.n <= bad.off+bad.n
		})
	}
	f.recount()
	if known {
		err = nil
	}
	f.log.fails = false
	return dirty, false, err
}

// recount recomputes the number of records.
func (f *File) recount() {
	f.records = 0
	if f.base != nil {
		f.records = f.base.records
	}
	if f.w != nil {
		f.records = max(f.records, f.w.next.records)
	}
	for v, recs := range f.log.of {
		for rec := range recs {
			if f.isRecord(v) {
				f.records = max(f.records, rec+1)
			}
		}
	}
}
