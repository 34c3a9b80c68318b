package blob

import "context"

// repeats says whether what is put is what all ranks put in the last flush, of other records: then that is what to expect of the others
// again. keys are those of this rank.
func (w *Writer) repeats(keys []varRec) bool {
	e := w.eng
	if len(keys) == 0 || len(keys) != len(w.last) || len(keys) != len(w.pending)+len(w.seen) || !e.mapsOut || !e.canAhead() {
		return false
	}
	delta := keys[0].rec - w.last[0].rec
	for i, k := range keys {
		if k.v != w.last[i].v || k.rec != w.last[i].rec+delta || !e.schema.vars[k.v].Record {
			return false
		}
	}
	return delta != 0
}

// canAhead says whether what a rank writes of its own may be written again by another: not where a unit is one node's, nor into places that
// are given in turn.
func (e *engine) canAhead() bool { return e.pack == nil && e.opt.Stripe.Size == 0 && !e.opt.keeps() }

// ahead does what a rank does of a flush on its own if all put the same keys: it writes what it does not give away, and
// fills the windows of the first round. Then the agreement with which a flush begins is all that there is, or with windows takes the
// place of their first fence: no rank is still in the flush before, which ends with one. Who is ahead has the list of that flush, of
// some records, and so fills bytes of the windows that are no other's. Should others put something else, the flush is
// made as if nothing had been done: the same bytes are written again, and the sums are made anew.
func (e *engine) ahead(ctx context.Context, list []pend, keys []varRec) (*exchanger, error) {
	lists, sets := [][]pend{list}, [][]varRec{keys}
	e.note(lists)
	p, q := e.newPlan(sets, true), newQueue(e, lists, nil)
	err := e.reserve(q, sets)
	if err == nil {
		_, err = p.writeOwn(ctx, q)
	}
	x := p.exchanger(q, nil, err)
	if err == nil && p.rounds > 0 && e.team.mem != nil {
		x.fillWindows(0)
	}
	return x, x.err
}
