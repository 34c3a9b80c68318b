package pio

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"blobio/decomp"
	"blobio/internal/cdf5/slab"
)

// log holds the writes since the last commit, by variable and record, in the order of the calls. All ranks have the same writes, each with its own data.
type log struct {
	of    map[*variable]map[int64][]*write
	bytes int64 // of a rank at most
	calls int64 // so far
}

// write is the part of one record of a variable that one call writes.
type write struct {
	off, n int64       // n elements of the record from off on
	d      *Decomp     // by which all of them were written, or nil
	part   *slab.Array // without d: which elements of the record
	data   []byte      // of the variable's type, in the order of d.runs or of part; without d of the root alone
	fill   []byte      // with d: for elements that no rank has; nil: the variable's
	size   int64       // bytes, of any rank at most
	call   int64       // the same on all ranks
	failed error       // on this rank: nothing of it is written on any
}

// whole is true of a write that replaces all elements [off, off+n).
func (w *write) whole() bool { return w.d != nil || w.part.Whole() }

// add adds a write, and forgets the writes that it replaces. A write that has failed on this rank may have succeeded on others: it replaces nothing here, but the
// bytes are counted as there.
func (l *log) add(v *variable, rec int64, w *write) {
	if l.of == nil {
		l.of = map[*variable]map[int64][]*write{}
	}
	if l.of[v] == nil {
		l.of[v] = map[int64][]*write{}
	}
	l.calls++
	w.call = l.calls
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

// drop forgets writes of a record.
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

// records are the written records of a variable, in order.
func (l *log) records(v *variable) []int64 { return slices.Sorted(maps.Keys(l.of[v])) }

func (l *log) empty() bool { return len(l.of) == 0 }

// done forgets the writes of a record.
func (l *log) done(v *variable, rec int64) {
	for _, w := range l.of[v][rec] {
		l.bytes -= w.size
	}
	delete(l.of[v], rec)
	if len(l.of[v]) == 0 {
		delete(l.of, v)
	}
}

// runs yields the elements of the record that a write has, in the order of its data.
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

// shifted are runs moved by off elements.
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

// straight is true of a write that can go to a dataset as each rank has it: of a whole record, with the variable's own fill value where elements are missing.
func (w *write) straight(v *variable, elems int64) bool {
	return w.d != nil && w.off == 0 && w.n == elems && (w.d.total >= elems || w.fill == nil || bytes.Equal(w.fill, v.fill()))
}

// straight returns the decomposition by which all of a variable was written, each record once, or nil. Collective.
func (l *log) straight(ctx context.Context, v *variable, shape []int64) (*Decomp, error) {
	var d *Decomp
	elems := product(shape)
	for _, rec := range l.records(v) { // in order: all ranks find the same one
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

// covers is true if the writes replace everything that the base has of a variable.
func (l *log) covers(r *route) bool {
	for rec := range r.old {
		list := l.of[r.v][rec]
		if len(list) == 0 || !list[0].whole() || list[0].off != 0 || list[0].n != r.elems {
			return false
		}
	}
	return true
}
