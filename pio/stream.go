package pio

import (
	"context"
	"fmt"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/blob/dyn"
)

// stream is an open writer, not committed yet.
type stream struct {
	w      *blob.Writer
	next   *base // the base after the commit
	routes []*route
	of     map[*variable]*route
	put    map[*variable]map[int64]bool
	from   int64 // the first record that an append may write; 0: a new dataset
	adds   bool  // the writer appends
	wrote  bool  // the writer has data that are no longer in the log
}

// begin opens a writer for the log. Collective.
func (tx *transaction) begin(ctx context.Context, open bool) error {
	a, err := tx.addition(ctx, open)
	if err != nil {
		return err
	}
	o := tx.opt.blob()
	st := &stream{put: map[*variable]map[int64]bool{}, of: map[*variable]*route{}}
	path := tx.place.blobs()
	if a != nil {
		st.routes, st.adds, st.from = a.routes, true, tx.base.records
		o.WideMaps = a.wide
		s := a.s
		if !a.more {
			s = nil
		}
		if st.w, err = blob.Append(ctx, tx.s.c, path, s, a.parts, o); err == nil {
			if err = a.set(ctx, st.w); err != nil {
				st.w.Abort()
			}
		}
	} else {
		var b *schemaOf
		if b, err = tx.fresh(ctx, open); err != nil {
			return err
		}
		st.routes = b.routes
		if err := tx.clear(ctx); err != nil {
			return err
		}
		o.Records = tx.defs.records // no more records follow, so process-centric files need no copies
		o.Force, o.WideMaps = tx.base != nil || !tx.opt.NoClobber || path != tx.defs.path, b.wide
		st.w, err = blob.Create(ctx, tx.s.c, path, b.s, b.parts, o)
	}
	if err != nil {
		return err
	}
	if tx.base != nil { // the writer now holds the name
		if err := tx.base.unchanged(ctx, tx.s, st.adds); err != nil {
			st.w.Abort()
			return err
		}
	}
	st.next = newBase(tx.defs, path, o.Layout)
	if st.adds {
		st.next.blank = tx.base.blank
	}
	for _, r := range st.routes {
		st.of[r.v] = r
		if r.routing == blank {
			st.next.blank[r.v] = true
		}
	}
	tx.w, tx.defs.changed = st, false
	return nil
}

// clear frees the name for blobs and makes their stand-in. Collective.
func (tx *transaction) clear(ctx context.Context) error {
	var err error
	if tx.opt.Form != Canonical && tx.s.c.Rank() == tx.s.root() {
		if tx.base == nil && !tx.opt.NoClobber {
			err = tx.place.clear()
		}
		if err == nil {
			err = tx.place.standIn()
		}
	}
	return agree(ctx, tx.s.c, err)
}

// set sets the new and changed attributes.
func (a *addition) set(ctx context.Context, w *blob.Writer) error {
	for _, x := range a.atts {
		id := blob.VarID(-1)
		if x.name != "" {
			id, _ = w.Schema().VarID(x.name)
		}
		if err := w.SetAtt(ctx, id, x.att.Name, x.att.Value); err != nil {
			return err
		}
	}
	return nil
}

// accepts reports whether the writer can take the whole log.
func (st *stream) accepts(l *log) bool {
	for v, recs := range l.of {
		r := st.of[v]
		if r == nil {
			return false
		}
		for rec, list := range recs {
			w := list[0]
			switch {
			case st.put[v][rec], st.adds && (!r.record || rec < st.from):
				return false
			case r.routing == straight && (len(list) > 1 || !w.straight(v, r.elems) || w.d.key != r.d.key):
				return false
			}
		}
	}
	return true
}

// putAll passes the log to the writer and flushes it. For a new dataset it also copies the data of the base. Collective.
func (tx *transaction) putAll(ctx context.Context) error {
	st := tx.w
	var jobs []*job
	var err error
	for _, r := range st.routes {
		for _, rec := range tx.log.next(r) {
			list := tx.log.of[r.v][rec]
			if r.routing != straight {
				jobs = append(jobs, &job{r: r, rec: rec, writes: list})
			} else if e := dyn.Put(st.w, r.id, rec, cdf5.View(r.v.t, list[0].data)); err == nil {
				err = e
			}
			if st.put[r.v] == nil {
				st.put[r.v] = map[int64]bool{}
			}
			st.put[r.v][rec] = true
			if r.record {
				st.next.records = max(st.next.records, rec+1)
			}
		}
	}
	if err = agree(ctx, tx.s.c, err); err == nil {
		stop := tx.stats.spend(assembling)
		err = (&assembly{tx.s, tx.base, st.w, tx.limits.batch}).put(ctx, jobs)
		stop()
	}
	if err == nil {
		defer tx.stats.spend(writing)()
		err = st.w.Flush(ctx)
	}
	if err != nil {
		return tx.fail(err)
	}
	st.wrote = true
	for _, r := range st.routes {
		for _, rec := range tx.log.records(r.v) {
			for _, w := range tx.log.of[r.v][rec] {
				tx.s.spare.give(w.data, tx.opt.Buffer)
			}
			tx.log.done(r.v, rec)
		}
		r.old = 0
	}
	return nil
}

// next returns the records to put next, from the log and the base.
func (l *log) next(r *route) []int64 {
	recs := l.records(r.v)
	if r.old == 0 || r.routing == straight {
		return recs
	}
	var all []int64
	for rec := range r.old {
		all = append(all, rec)
	}
	for _, rec := range recs {
		if rec >= r.old {
			all = append(all, rec)
		}
	}
	return all
}

// fail aborts the writer after an error. Its data are lost if they are no longer in the log.
func (tx *transaction) fail(err error) error {
	tx.w.w.Abort()
	if tx.w.wrote {
		tx.ranks.broken = fmt.Errorf("%s: an earlier write has failed: %w", tx.defs.path, err)
	}
	tx.w, tx.defs.changed = nil, true
	return err
}
