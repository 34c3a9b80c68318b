package blob

import (
	"context"
	"slices"
)

// repeats says whether what is put is what was put in the last flush, of other records: then that is what to expect of the others
// again. keys are those of this rank; what is returned is what all of its team put, nil if it is not known.
func (w *Writer) repeats(keys []varRec) []varRec {
	e := w.eng
	if w.flying { // another rank may still write there what this one put before
		return nil
	}
	if len(keys) == 0 || len(keys) != len(w.last) || len(keys) != len(w.pending)+len(w.seen) || len(w.parts) > 0 || !e.mapsOut || !e.canAhead() {
		return nil
	}
	delta := keys[0].rec - w.last[0].rec
	parts := w.lastAlike == allAlike
	for i, k := range keys {
		if k.v != w.last[i].v || k.rec != w.last[i].rec+delta {
			return nil
		}
		parts = parts || e.schema.vars[k.v].Decomp != 0
	}
	if delta == 0 || !parts { // where only these have to be alike, they tell the records
		return nil
	}
	whole := slices.Clone(e.whole)
	for i := range whole {
		if !e.schema.vars[whole[i].v].Record {
			return nil
		}
		whole[i].rec += delta
	}
	return whole
}

// canAhead says whether what a rank writes of its own may be written again by another: not where a unit is one node's, nor into places that
// are given in turn.
func (e *engine) canAhead() bool { return e.pack == nil && e.opt.Stripe.Size == 0 && !e.opt.keeps() }

// ahead does what a rank does of a flush on its own if its team puts these keys: it writes what it does not give away, and
// fills the windows of the first round. Then the agreement with which a flush begins is all that there is, or with windows takes the
// place of their first fence: no rank is still in the flush before, which ends with one. Who is ahead has the list of that flush, of
// some records, and so fills bytes of the windows that are no other's. Should others put something else, the flush is
// made as if nothing had been done: the same bytes are written again, and the sums are made anew.
func (e *engine) ahead(ctx context.Context, list []pend, keys []varRec) (*exchanger, error) {
	lists, sets := [][]pend{list}, [][]varRec{keys}
	e.note(lists)
	least := e.ownMin()
	x := e.again.moved(list, keys, least)
	if x == nil {
		x = e.newPlan(sets, least, true).exchanger(newQueue(e, lists, nil), nil, nil)
		e.again = repeatOf(x, list, keys)
	}
	err := e.reserve(x.q, sets)
	if err == nil {
		_, err = x.p.writeOwn(ctx, x.q)
	}
	if x.err = err; err == nil && x.p.rounds > 0 && e.team.mem != nil {
		x.fillWindows(0)
	}
	return x, x.err
}

// repeat is how a flush was made ahead: the next one that repeats it is made in the same way, some records further.
type repeat struct {
	x    exchanger // as it was before it did anything
	keys []varRec
	puts []varRec // in the order of the puts; records from that of keys[0] on
}

// repeatOf remembers x, which is for these puts. Where a blob lies elsewhere for each record nothing but own writes stays.
func repeatOf(x *exchanger, list []pend, keys []varRec) *repeat {
	if x.p.e.place.ByRank && x.p.rounds > 0 {
		return nil
	}
	k := &repeat{x: *x, keys: keys, puts: make([]varRec, len(list))}
	for i := range list {
		k.puts[i] = varRec{list[i].v, list[i].rec - keys[0].rec}
	}
	return k
}

// moved is the exchanger for the same puts of other records; nil if they are not the same.
func (k *repeat) moved(list []pend, keys []varRec, least int64) *exchanger {
	if k == nil || k.x.p.least != least || len(list) != len(k.puts) || len(keys) != len(k.keys) {
		return nil
	}
	now, was := keys[0], k.keys[0]
	for i, key := range keys {
		if key.v != k.keys[i].v || key.rec-now.rec != k.keys[i].rec-was.rec {
			return nil
		}
	}
	for i := range list {
		if list[i].v != k.puts[i].v || list[i].rec-now.rec != k.puts[i].rec {
			return nil
		}
	}
	p := k.x.p
	e, t := p.e, p.e.team
	to, _, _ := e.spotOf(t.all, t.members[0], now.v, now.rec)
	from, _, _ := e.spotOf(t.all, t.members[0], was.v, was.rec)
	ext := e.extent(&pend{v: now.v, rec: now.rec}) - e.extent(&pend{v: was.v, rec: was.rec})
	for _, list := range [][]chunk{p.chunks, k.x.chunks} {
		for i := range list {
			list[i].off += to - from
			list[i].ext += ext
		}
	}
	k.keys, p.keys = keys, keys
	k.x.q.lists[0] = list
	x := k.x
	return &x
}
