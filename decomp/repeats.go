package decomp

import (
	"fmt"
	"slices"
)

// Repeats counts overlaps between the requests of one rank.
type Repeats struct {
	Again int64 // extra occurrences of elements within a rank
	Elems int64 // elements that a rank has more than once
	Added int64 // foreign elements that SortCoalesce would add to a rank's requests
	Rank  int   // first rank with a repeated element
	Off   int64 // first repeated element of Rank
}

// String returns a text such as "1 index twice; merged as E3SM-IO does, claims 1 more", or "1 index more than once, 2 times too
// many; ..." if an element occurs more than twice.
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

// Repeats counts elements that a rank has more than once.
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

// RepeatsOf counts repeated elements in the requests of one rank. It does not change reqs.
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

// repeatsIn is RepeatsOf, but it changes reqs.
func repeatsIn(reqs []Req, last int64) (r Repeats) {
	sortByOffset(reqs)
	sum, end, again, found := int64(0), int64(0), int64(0), false // again: end of the repeated elements so far
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

// union counts the distinct elements of ascending requests.
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
