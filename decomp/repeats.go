package decomp

import (
	"fmt"
	"slices"
)

// Repeats says how far requests of one rank overlap each other.
type Repeats struct {
	Again int64 // how often a rank holds an element that it holds already
	Elems int64 // how many elements a rank holds more than once
	Added int64 // how many elements that it does not hold SortCoalesce would add to its requests
	Rank  int   // the first rank with such an element
	Off   int64 // the first of its elements
}

// String says what was found, as "1 index twice; merged as E3SM-IO does, claims 1 more", or "1 index more than once, 2 times too many; ..." where a rank holds
// one more than twice.
func (r Repeats) String() string {
	what := "indices"
	if r.Elems == 1 {
		what = "index"
	}
	often := "twice"
	if r.Again > r.Elems {
		often = fmt.Sprintf("more than once, with %d repeats", r.Again)
	}
	return fmt.Sprintf("%d %s given %s; a merge as in E3SM-IO claims %d more", r.Elems, what, often, r.Added)
}

// Repeats looks for ranks that hold an element more than once.
func (m *Map) Repeats() Repeats {
	var all Repeats
	var buf []Req
	for r := range m.ranks {
		if m.Sorted(r) {
			continue
		}
		buf = m.AppendReqs(buf[:0], r)
		one := repeatsIn(buf, m.Row())
		if all.Again == 0 {
			all.Rank, all.Off = r, one.Off
		}
		all.Again += one.Again
		all.Elems += one.Elems
		all.Added += one.Added
	}
	if all.Again == 0 {
		return Repeats{}
	}
	return all
}

// RepeatsOf looks for elements that requests of one rank hold more than once. It leaves them as they are.
func RepeatsOf(reqs []Req, last int64) Repeats {
	end := int64(0)
	for _, q := range reqs {
		if q.Length > 0 && q.Offset < end {
			return repeatsIn(slices.Clone(reqs), last)
		}
		end = max(end, q.Offset+q.Length)
	}
	return Repeats{}
}

// repeatsIn is RepeatsOf; it changes reqs.
func repeatsIn(reqs []Req, last int64) (r Repeats) {
	sortByOffset(reqs)
	sum, end, again, found := int64(0), int64(0), int64(0), false // again is the end of what is held more than once
	for _, q := range reqs {
		sum += q.Length
		if e := min(q.Offset+q.Length, end); e > max(q.Offset, again) {
			r.Elems += e - max(q.Offset, again)
			again = e
		}
		if q.Length > 0 && q.Offset < end && !found {
			r.Off, found = q.Offset, true
		}
		end = max(end, q.Offset+q.Length)
	}
	held := union(reqs)
	if r.Again = sum - held; r.Again > 0 {
		r.Added = union(coalesce(reqs, last, true)) - held
	}
	return r
}

// union counts the elements of requests that ascend.
func union(reqs []Req) (n int64) {
	end := int64(0)
	for _, q := range reqs {
		if to := q.Offset + q.Length; to > end {
			n += to - max(q.Offset, end)
			end = to
		}
	}
	return n
}
