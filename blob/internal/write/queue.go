package write

import "slices"

// queue is the work of one flush: all pieces in the order of the file, cut into tasks of at most one buffer. Workers take tasks
// from the front.
type queue struct {
	e     *Engine
	lists [][]Pend
	maps  []Pend // variables of the maps, which every rank has; empty after the maps are written
	refs  []ref  // all pieces, ascending by file offset
	tasks []task
	bytes int64 // total size of all pieces
	size  int64 // size of a task and of its buffer
}

const (
	// minTask is the minimum size of a task. Above a few hundred kilobytes the time of a write is proportional to its size.
	minTask = 512 << 10
	// turns is the number of tasks per worker in one flush, if tasks do not become smaller than minTask. With fewer tasks, all
	// workers convert at the same time, then all wait for the lock of the file, and one worker is idle at the end.
	turns = 16
)

// ref names a piece: put k of local rank i, or maps[-1-k].
type ref struct{ i, k int32 }

func newQueue(e *Engine, lists [][]Pend, maps []Pend) *queue {
	q := &queue{e: e, lists: lists, maps: maps}
	n, lent := len(maps)*len(lists), int64(0)
	for _, l := range lists {
		n += len(l)
		for k := range l {
			lent += int64(len(l[k].Raw))
		}
	}
	// If the pieces of a record are not contiguous, each piece needs its own write, and more workers would only wait for each
	// other.
	apart := e.Layout.Place.ByRank && e.opt.Records > 1
	if q.size = int64(e.opt.Buffer); e.opt.Spread && !apart {
		q.size = min(q.size, max(minTask, lent/int64(turns*e.opt.Workers)))
	}
	q.refs = make([]ref, 0, n)
	if e.Layout.Place.ByRank {
		q.orderByRank()
	} else {
		q.orderByVariable()
	}
	q.cut()
	return q
}

func (q *queue) pend(r ref) *Pend {
	if r.k < 0 {
		return &q.maps[-1-r.k]
	}
	return &q.lists[r.i][r.k]
}

// orderByVariable sorts in the order of the variable-centric file: map variables, fixed variables, then records; then by variable,
// then by rank. Ranks usually put the same variables, so a counting sort by (record, variable) compares only a few keys.
func (q *queue) orderByVariable() {
	for m := range q.maps {
		for i := range q.lists {
			q.refs = append(q.refs, ref{int32(i), int32(-1 - m)})
		}
	}
	base := len(q.refs)
	bucket := map[varRec]int{}
	var keys []varRec
	var sizes []int
	which := make([]int32, 0, cap(q.refs)-base) // bucket of each piece, in the order of the lists
	prev := []int32(nil)
	for _, l := range q.lists {
		row := len(which)
		for k := range l {
			key := varRec{l[k].V, l[k].Rec}
			b := -1
			if k < len(prev) && keys[prev[k]] == key { // the previous rank has put the same record at this position
				b = int(prev[k])
			} else if x, ok := bucket[key]; ok {
				b = x
			} else {
				b = len(keys)
				bucket[key] = b
				keys, sizes = append(keys, key), append(sizes, 0)
			}
			sizes[b]++
			which = append(which, int32(b))
		}
		prev = which[row:]
	}
	order := make([]int, len(keys))
	for b := range order {
		order[b] = b
	}
	slices.SortFunc(order, func(a, b int) int { return q.e.Layout.order(keys[a], keys[b]) })
	next := make([]int, len(keys))
	at := base
	for _, b := range order {
		next[b] = at
		at += sizes[b]
	}
	q.refs = q.refs[:at]
	n := 0
	for i, l := range q.lists {
		for k := range l {
			b := which[n]
			n++
			q.refs[next[b]] = ref{int32(i), int32(k)}
			next[b]++
		}
	}
}

// orderByRank sorts in the order of the process-centric file: by rank, and in a blob map variables, then variables, then records.
func (q *queue) orderByRank() {
	for i, l := range q.lists {
		for m := range q.maps {
			q.refs = append(q.refs, ref{int32(i), int32(-1 - m)})
		}
		row := len(q.refs)
		for k := range l {
			q.refs = append(q.refs, ref{int32(i), int32(k)})
		}
		slices.SortFunc(q.refs[row:], func(a, b ref) int {
			x, y := &l[a.k], &l[b.k]
			return q.e.Layout.order(varRec{x.V, x.Rec}, varRec{y.V, y.Rec})
		})
	}
}
