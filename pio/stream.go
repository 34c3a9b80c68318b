package pio

import (
	"context"
	"errors"
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

// dirty reports whether there is something to commit.
func (f *File) dirty() bool { return f.base == nil || f.changed || f.w != nil || !f.log.empty() }

// commit commits all writes and definitions. Collective.
func (f *File) commit(ctx context.Context) error {
	if !f.write {
		return nil
	}
	if f.broken != nil { // set on all ranks
		return f.broken
	}
	dirty, same, bad := f.sortOut(ctx)
	for ; dirty; dirty, same = f.dirty(), false {
		err := f.advance(ctx, false, same)
		if err == nil {
			err = f.finish(ctx)
		}
		if err != nil {
			return errors.Join(err, bad)
		}
	}
	return bad
}

// advance puts the log, unless the open writer cannot take it. With open, a new writer will get more data later. same means that the
// ranks have already found the same definitions and writes. Collective.
func (f *File) advance(ctx context.Context, open, same bool) error {
	if !same {
		if err := f.same(ctx); err != nil {
			return err
		}
	}
	if f.w == nil {
		if err := f.begin(ctx, open); err != nil {
			return err
		}
	} else if f.changed || !f.w.accepts(&f.log) {
		return nil
	}
	return f.putAll(ctx)
}

// begin opens a writer for the log. Collective.
func (f *File) begin(ctx context.Context, open bool) error {
	a, err := f.addition(ctx, open)
	if err != nil {
		return err
	}
	o := f.opt.blob()
	st := &stream{put: map[*variable]map[int64]bool{}, of: map[*variable]*route{}}
	path := f.place.blobs()
	if a != nil {
		st.routes, st.adds, st.from = a.routes, true, f.base.records
		o.WideMaps = a.wide
		s := a.s
		if !a.more {
			s = nil
		}
		if st.w, err = blob.Append(ctx, f.s.c, path, s, a.parts, o); err == nil {
			if err = a.set(ctx, st.w); err != nil {
				st.w.Abort()
			}
		}
	} else {
		var b *schemaOf
		if b, err = f.fresh(ctx); err != nil {
			return err
		}
		st.routes = b.routes
		if err := f.clear(ctx); err != nil {
			return err
		}
		o.Records = f.records // no more records follow, so process-centric files need no copies
		o.Force, o.WideMaps = f.base != nil || !f.opt.NoClobber || path != f.path, b.wide
		st.w, err = blob.Create(ctx, f.s.c, path, b.s, b.parts, o)
	}
	if err != nil {
		return err
	}
	if f.base != nil { // the writer now holds the name
		if err := f.base.unchanged(ctx, f.s, st.adds); err != nil {
			st.w.Abort()
			return err
		}
	}
	for _, r := range st.routes {
		st.of[r.v] = r
	}
	st.next = newBase(&f.definitions, path, o.Layout)
	f.w, f.changed = st, false
	return nil
}

// clear frees the name for blobs. Collective.
func (f *File) clear(ctx context.Context) error {
	var err error
	if f.base == nil && f.opt.Form != Canonical && !f.opt.NoClobber && f.s.c.Rank() == f.s.root() {
		err = f.place.clear()
	}
	return agree(ctx, f.s.c, err)
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
func (f *File) putAll(ctx context.Context) error {
	st := f.w
	var jobs []*job
	var err error
	for _, r := range st.routes {
		for _, rec := range f.log.next(r) {
			list := f.log.of[r.v][rec]
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
	if err = agree(ctx, f.s.c, err); err == nil {
		stop := f.stats.spend(assembling)
		err = (&assembly{f.s, f.base, st.w, f.limits.batch}).put(ctx, jobs)
		stop()
	}
	if err == nil {
		defer f.stats.spend(writing)()
		err = st.w.Flush(ctx)
	}
	if err != nil {
		return f.failedWriter(err)
	}
	st.wrote = true
	for _, r := range st.routes {
		for _, rec := range f.log.records(r.v) {
			for _, w := range f.log.of[r.v][rec] {
				f.s.spare.give(w.data, f.opt.Buffer)
			}
			f.log.done(r.v, rec)
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

// failedWriter aborts a failed writer. Its data are lost if they are no longer in the log.
func (f *File) failedWriter(err error) error {
	f.w.w.Abort()
	if f.w.wrote {
		f.broken = fmt.Errorf("%s: an earlier write has failed: %w", f.path, err)
	}
	f.w, f.changed = nil, true
	return err
}

// finish commits the writer. Collective.
func (f *File) finish(ctx context.Context) error {
	defer f.stats.spend(writing)()
	st := f.w
	err := st.w.Close(ctx)
	var unfinished *blob.UnfinishedError
	if err != nil && !errors.As(err, &unfinished) {
		f.w.wrote = true // the log is empty, so data are lost
		return f.failedWriter(err)
	}
	f.w = nil
	f.stats.commits++
	if !st.adds && f.base != nil {
		f.stats.anew++
	}
	st.next.records = max(st.next.records, st.from)
	var unread error
	if f.s.c.Rank() == f.s.root() {
		st.next.stamp, unread = st.next.read()
	}
	err = errors.Join(err, agree(ctx, f.s.c, unread), f.settle(st.next))
	if f.log.empty() {
		f.records = f.base.records
	}
	return err
}

// bufferFactor is how many times FileOptions.Buffer the log may reach while some large variable is still unwritten.
const bufferFactor = 4

// spill writes the log without a commit, where possible. Collective.
func (f *File) spill(ctx context.Context) error {
	if f.broken != nil {
		return f.broken
	}
	_, same, err := f.sortOut(ctx)
	if err != nil || f.log.empty() {
		return err
	}
	if f.w == nil && (f.opt.Form == Process || f.log.bytes < bufferFactor*f.opt.Buffer && !f.log.decides(f)) {
		return nil // a process-centric writer would keep the data until Close anyway
	}
	if f.w == nil && f.base != nil {
		if a, err := f.addition(ctx, true); err != nil || a == nil {
			return err
		}
	}
	if f.w != nil && (f.changed || !f.w.accepts(&f.log)) {
		return f.commit(ctx)
	}
	return f.advance(ctx, true, same)
}

// decides reports whether the log has a write of each large variable that a new writer would get.
func (l *log) decides(f *File) bool {
	for _, v := range f.vars {
		later := f.base != nil && !f.isRecord(v)
		if !later && len(l.of[v]) == 0 && product(f.shape(v))*int64(v.t.Size()) > f.limits.whole {
			return false
		}
	}
	return true
}
