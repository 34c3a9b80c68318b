package decomp

import (
	"cmp"
	"container/heap"
	"slices"
)

func (r *rawRun) end() int64 { return r.off + int64(r.len) }

// wins reports whether r owns the elements that both r and o contain.
func (r *rawRun) wins(o *rawRun) bool {
	return cmp.Or(cmp.Compare(r.src, o.src), cmp.Compare(r.pos, o.pos)) > 0
}

// resolve sorts runs and cuts them into disjoint segments.
func (v *inverter) resolve(runs []rawRun) []segment {
	order := make([]Req, len(runs)) // Offset is the offset of a run, Length its index in runs
	for i := range runs {
		order[i] = Req{runs[i].off, int64(i)}
	}
	sortByOffset(order)
	segs := make([]segment, 0, len(runs))
	for i := 0; i < len(order); {
		r := runs[order[i].Length]
		if i+1 == len(order) || order[i+1].Offset >= r.end() {
			segs = append(segs, segment{r.off, r.len, r.pos, r.src, -1})
			i++
			continue
		}
		// a cluster of overlapping runs
		cluster := []rawRun{r}
		end := r.end()
		for i++; i < len(order) && order[i].Offset < end; i++ {
			c := runs[order[i].Length]
			cluster = append(cluster, c)
			end = max(end, c.end())
		}
		segs = v.sweep(segs, cluster)
	}
	return segs
}

// sweep appends the segments of overlapping runs, which are sorted by offset.
func (v *inverter) sweep(segs []segment, runs []rawRun) []segment {
	var active winners // runs that start at or before x
	var ends endHeap   // ends of the active runs, without ends before x
	first := len(segs)
	for i, x := 0, runs[0].off; i < len(runs) || len(ends) > 0; {
		for ; i < len(runs) && runs[i].off == x; i++ {
			heap.Push(&active, runs[i])
			heap.Push(&ends, runs[i].end())
		}
		for len(ends) > 0 && ends[0] <= x {
			heap.Pop(&ends)
		}
		for len(active) > 0 && active[0].end() <= x {
			heap.Pop(&active)
		}
		if len(ends) == 0 {
			if i < len(runs) {
				x = runs[i].off
			}
			continue
		}
		next := ends[0]
		if i < len(runs) {
			next = min(next, runs[i].off)
		}
		top := active[0]
		other := int32(-1)
		if len(ends) > 1 {
			other = v.ix.sources[active.second(x).src].rank
		}
		s := segment{x, int32(next - x), top.pos + int32(x-top.off), top.src, other}
		if n := len(segs) - 1; n >= first && segs[n].src == s.src && segs[n].other == s.other &&
			segs[n].off+int64(segs[n].len) == s.off && segs[n].pos+segs[n].len == s.pos {
			segs[n].len += s.len
		} else {
			segs = append(segs, s)
		}
		x = next
	}
	return segs
}

// winners is a heap of runs, the winner first. It may contain runs that have ended.
type winners []rawRun

func (w winners) Len() int           { return len(w) }
func (w winners) Less(i, j int) bool { return w[i].wins(&w[j]) }
func (w winners) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *winners) Push(x any)        { *w = append(*w, x.(rawRun)) }
func (w *winners) Pop() any {
	s := *w
	x := s[len(s)-1]
	*w = slices.Delete(s, len(s)-1, len(s))
	return x
}

// second returns the second winner among the runs that have not ended at x. There must be such a
// run.
func (w *winners) second(x int64) rawRun {
	top := heap.Pop(w).(rawRun)
	for (*w)[0].end() <= x {
		heap.Pop(w)
	}
	s := (*w)[0]
	heap.Push(w, top)
	return s
}

type endHeap []int64

func (h endHeap) Len() int           { return len(h) }
func (h endHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h endHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *endHeap) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *endHeap) Pop() any {
	s := *h
	x := s[len(s)-1]
	*h = s[:len(s)-1]
	return x
}
