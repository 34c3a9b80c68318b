package pio

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"blobio/decomp"
	"blobio/internal/cdf5/slab"
)

// log holds the writes since the last commit, by variable and record, in call order. All ranks have the same writes, each with
// its own data.
type log struct {
	of    map[*variable]map[int64][]*write
	bytes int64 // maximum over the ranks
	calls int64 // so far
	fails bool  // some write has failed on this rank
}

// write is the part of one record of a variable that one call writes.
type write struct {
	off, n int64       // n elements of the record, starting at off
	d      *Decomp     // the decomposition that wrote them, or nil
	part   *slab.Array // without d: the elements of the record
	data   []byte      // of the variable's type, in the order of d.runs or part; without d only on the root
	fill   []byte      // with d: for elements that no rank has; nil: the variable's fill value
	size   int64       // bytes; the maximum over the ranks
	call   int64       // call number, the same on all ranks
	failed error       // error on this rank: no rank writes any of it
}

// whole reports whether the write replaces all elements [off, off+n).
func (w *write) whole() bool { return w.d != nil || w.part.Whole() }

// add adds a write and drops the writes that it replaces. A write that failed on this rank may have succeeded on others. Then add
// keeps the replaced writes, but no longer counts their bytes, so that all ranks count the same bytes.
func (l *log) add(v *variable, rec int64, w *write) {
	if l.of == nil {
		l.of = map[*variable]map[int64][]*write{}
	}
	if l.of[v] == nil {
		l.of[v] = map[int64][]*write{}
	}
	l.calls++
	w.call, l.fails = l.calls, l.fails || w.failed != nil
	list := l.of[v][rec]
	if w.whole() {
		list = slices.DeleteFunc(list, func(o *write) bool {
			past := o.off >= w.off && o.off+o.n <= w.off+w.n
			if past {
				l.bytes, o.size = l.bytes-o.size, 0
			}
			return past && w.failed == nil
		})
	}
	l.of[v][rec] = append(list, w)
	l.bytes += w.size
}

// drop drops the writes of a record that which selects.
func (l *log) drop(v *variable, rec int64, which func(w *write) bool) {
	list := slices.DeleteFunc(l.of[v][rec], func(w *write) bool {
		gone := which(w)
		if gone {
			l.bytes -= w.size
		}
		return gone
	})
	if l.of[v][rec] = list; len(list) == 0 {
		l.done(v, rec)
	}
}

// records returns the written records of a variable, in order.
func (l *log) records(v *variable) []int64 {
	recs := slices.Collect(maps.Keys(l.of[v]))
	slices.Sort(recs)
	return recs
}

func (l *log) empty() bool { return len(l.of) == 0 }

// done drops all writes of a record.
func (l *log) done(v *variable, rec int64) {
	for _, w := range l.of[v][rec] {
		l.bytes -= w.size
	}
	delete(l.of[v], rec)
	if len(l.of[v]) == 0 {
		delete(l.of, v)
	}
}

// runs yields the runs of the record that the write covers, in the order of its data.
func (w *write) runs(yield func(off, n int64) bool) {
	if w.d == nil {
		for off, n := range w.part.Runs(0, w.part.Elems()) {
			if !yield(off, n) {
				return
			}
		}
		return
	}
	for _, r := range w.d.runs {
		if !yield(w.off+r.Offset, r.Length) {
			return
		}
	}
}

// shifted returns runs moved by off elements.
func shifted(runs []decomp.Req, off int64) []decomp.Req {
	if off == 0 {
		return runs
	}
	out := slices.Clone(runs)
	for i := range out {
		out[i].Offset += off
	}
	return out
}

// straight reports whether the write can go to a dataset without communication. It must cover a whole record and use the
// variable's own fill value for missing elements.
func (w *write) straight(v *variable, elems int64) bool {
	return w.d != nil && w.off == 0 && w.n == elems && (!w.d.holes() || w.fill == nil || bytes.Equal(w.fill, v.fill()))
}

// straight returns the decomposition that wrote all of a variable, each record once, or nil. Collective.
func (l *log) straight(ctx context.Context, v *variable, shape []int64) (*Decomp, error) {
	var d *Decomp
	elems := product(shape)
	for _, rec := range l.records(v) { // in order, so that all ranks find the same decomposition
		list := l.of[v][rec]
		w := list[0]
		if len(list) > 1 || !w.straight(v, elems) || d != nil && d.key != w.d.key || len(shape) == 0 {
			return nil, nil
		}
		d = w.d
	}
	if d == nil {
		return nil, nil
	}
	if ok, err := d.single(ctx); err != nil || !ok {
		return nil, err
	}
	return d, nil
}

// covers reports whether the writes replace all data of a variable in the base.
func (l *log) covers(r *route) bool {
	for rec := range r.old {
		list := l.of[r.v][rec]
		if len(list) == 0 || !list[0].whole() || list[0].off != 0 || list[0].n != r.elems {
			return false
		}
	}
	return true
}
