package pio

import (
	"maps"
	"slices"

	"blobio/decomp"
	"blobio/internal/cdf5/slab"
)

// log holds what was written since the last commit: by variable and record, in the order of the calls. All ranks have the same writes in it, each
// with its own data.
type log struct {
	of    map[*variable]map[int64][]*write
	bytes int64 // of a rank at most
	calls int64 // so far
}

// write is what one call writes of one record of a variable.
type write struct {
	off, n int64       // elements of the record from the first to the last that it means
	d      *Decomp     // that all of them were written with, or nil
	part   *slab.Array // without d: which elements of the record
	data   []byte      // of the variable's type, in the order of d.runs or of part; without d of the root alone
	fill   []byte      // with d: of elements that nobody has; nil: the variable's
	size   int64       // bytes, of any rank at most
	call   int64       // the same on all ranks
	failed error       // on this rank: nothing of it is written on any
}

// whole says that a write leaves nothing of what was there of elements [off, off+n).
func (w *write) whole() bool { return w.d != nil || w.part.Whole() }

// add adds a write, and forgets those of which it leaves nothing. One that has failed here may be right on other ranks, which do not know: it leaves the others
// where they are, but counts as on those ranks.
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

// records are those of a variable that were written, in order.
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

// runs yields the elements of the record that a write means, in the order of its data.
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

// shifted are runs of elements from off on.
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
